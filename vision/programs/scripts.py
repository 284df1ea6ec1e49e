"""Words and sentences in several scripts, for pages that are not in English. All are plain everyday phrases."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Language:
    """A language with enough text for a page.

    Attributes:
        code: BCP 47 tag.
        name: the language's English name.
        font: CSS font families that cover its script.
        direction: `ltr` or `rtl`.
        home, news, search, buy, read: words of a site's interface.
        nouns: single nouns.
        sentences: full sentences.
        people: personal names.
    """

    code: str
    name: str
    font: str
    direction: str
    home: str
    news: str
    search: str
    buy: str
    read: str
    nouns: tuple[str, ...]
    sentences: tuple[str, ...]
    people: tuple[str, ...]


def _language(
    code: str, name: str, font: str, direction: str, interface: str, nouns: str, sentences: str, people: str
) -> Language:
    home, news, search, buy, read = interface.split("|")
    return Language(
        code,
        name,
        font,
        direction,
        home,
        news,
        search,
        buy,
        read,
        *(tuple(text.split("|")) for text in (nouns, sentences, people)),
    )  # type: ignore[arg-type]


LANGUAGES = (
    _language(
        "ar", "Arabic", "'Noto Sans Arabic', 'DejaVu Sans', sans-serif", "rtl",
        "الرئيسية|الأخبار|بحث|اشتر الآن|اقرأ المزيد",
        "البحر|الجبل|المدينة|الحديقة|الكتاب|القمر|النهر|الطريق|الباب|المطر",
        "يفتح السوق أبوابه عند الفجر.|تمشي القافلة ببطء نحو الجبل.|نزرع الأشجار كل ربيع.|المدينة القديمة "
        "هادئة في المساء.|يحب الأطفال اللعب قرب النهر.|القهوة جاهزة على الطاولة.|وصل القطار في موعده اليوم.",
        "ليلى حداد|عمر نصار|سلمى فارس|كريم منصور",
    ),
    _language(
        "he", "Hebrew", "'Noto Sans Hebrew', 'DejaVu Sans', sans-serif", "rtl",
        "דף הבית|חדשות|חיפוש|קנו עכשיו|קראו עוד",
        "הים|ההר|העיר|הגן|הספר|הירח|הנהר|הדרך|הדלת|הגשם",
        "השוק נפתח עם אור ראשון.|אנחנו נוטעים עצים בכל אביב.|העיר העתיקה שקטה בערב.|הרכבת הגיעה היום "
        "בזמן.|הילדים משחקים ליד הנהר.|הקפה מוכן על השולחן.|הדרך אל ההר ארוכה ויפה.",
        "נועה לוי|אורי כהן|תמר שקד|יונתן ברק",
    ),
    _language(
        "hi", "Hindi", "'Noto Sans Devanagari', sans-serif", "ltr", "मुखपृष्ठ|समाचार|खोजें|अभी खरीदें|और पढ़ें",
        "नदी|पहाड़|शहर|बगीचा|किताब|चाँद|रास्ता|बारिश|घर|सागर",
        "बाज़ार सुबह जल्दी खुलता है।|हम हर वसंत में पेड़ लगाते हैं।|पुराना शहर शाम को शांत रहता है।|रेलगाड़ी "
        "आज समय पर आई।|बच्चे नदी के पास खेलते हैं।|चाय मेज़ पर तैयार है।|पहाड़ का रास्ता लंबा और सुंदर है।",
        "मीरा शर्मा|अर्जुन राव|काव्या सिंह|रोहन मेहता",
    ),
    _language(
        "ja", "Japanese", "'Noto Sans CJK JP', sans-serif", "ltr", "ホーム|お知らせ|検索|購入する|続きを読む",
        "海|山|町|庭|本|月|川|道|雨|森",
        "市場は夜明けに開きます。|毎年春に木を植えます。|古い町は夕方とても静かです。|電車は今日も時間どおりに着きました。|子どもたちは川のそばで遊びます。|テーブルの上にお茶があります。|山への道は長くて美しいです。",
        "佐藤 花|田中 健|鈴木 海|山本 光",
    ),
    _language(
        "zh", "Chinese", "'Noto Sans CJK SC', sans-serif", "ltr", "首页|新闻|搜索|立即购买|阅读更多",
        "大海|高山|城市|花园|书本|月亮|河流|道路|雨水|森林",
        "市场在清晨开门。|我们每年春天种树。|老城的傍晚很安静。|火车今天准时到达。|孩子们在河边玩耍。|茶已经放在桌上。|通往山上的路又长又美。",
        "王小明|李静|陈晓|张伟",
    ),
    _language(
        "ko", "Korean", "'Noto Sans CJK KR', sans-serif", "ltr", "홈|소식|검색|지금 구매|더 읽기",
        "바다|산|도시|정원|책|달|강|길|비|숲",
        "시장은 새벽에 문을 엽니다.|우리는 봄마다 나무를 심습니다.|오래된 도시는 저녁에 조용합니다.|"
        "기차가 오늘 제시간에 도착했습니다.|"
        "아이들은 강가에서 놉니다.|차가 식탁 위에 있습니다.|산으로 가는 길은 길고 아름답습니다.",
        "김하나|이준호|박소라|최민수",
    ),
    _language(
        "ru", "Russian", "'Noto Sans', 'DejaVu Sans', sans-serif", "ltr", "Главная|Новости|Поиск|Купить|Читать дальше",
        "Море|Гора|Город|Сад|Книга|Луна|Река|Дорога|Дождь|Лес",
        "Рынок открывается на рассвете.|Каждую весну мы сажаем деревья.|Старый город тих по вечерам.|Поезд "
        "сегодня пришёл вовремя.|Дети играют у реки.|Чай уже стоит на столе.|Дорога в горы длинная и красивая.",
        "Анна Белова|Иван Седов|Мария Лунина|Пётр Орлов",
    ),
    _language(
        "el", "Greek", "'Noto Sans', 'DejaVu Sans', sans-serif", "ltr", "Αρχική|Νέα|Αναζήτηση|Αγορά|Περισσότερα",
        "Θάλασσα|Βουνό|Πόλη|Κήπος|Βιβλίο|Φεγγάρι|Ποτάμι|Δρόμος|Βροχή|Δάσος",
        "Η αγορά ανοίγει την αυγή.|Κάθε άνοιξη φυτεύουμε δέντρα.|Η παλιά πόλη είναι ήσυχη το βράδυ.|Το τρένο "
        "έφτασε σήμερα στην ώρα του.|Τα παιδιά παίζουν κοντά στο ποτάμι.|Το τσάι είναι πάνω στο τραπέζι.|Ο "
        "δρόμος για το βουνό είναι μακρύς και όμορφος.",
        "Ελένη Μάρκου|Νίκος Δήμου|Σοφία Ρήγα|Γιάννης Λάμπρου",
    ),
    _language(
        "th", "Thai", "'Noto Sans Thai', sans-serif", "ltr", "หน้าแรก|ข่าว|ค้นหา|ซื้อเลย|อ่านต่อ",
        "ทะเล|ภูเขา|เมือง|สวน|หนังสือ|พระจันทร์|แม่น้ำ|ถนน|ฝน|ป่า",
        "ตลาดเปิดตั้งแต่เช้าตรู่|เราปลูกต้นไม้ทุกปี|เมืองเก่าเงียบสงบในตอนเย็น|รถไฟมาถึงตรงเวลาในวันนี้|เด็ก "
        "ๆ เล่นใกล้แม่น้ำ|น้ำชาอยู่บนโต๊ะแล้ว|ทางขึ้นภูเขายาวและสวยงาม",
        "มาลี ใจดี|สมชาย แสงทอง|นภา ดาวเรือง|ปิติ สุขใจ",
    ),
)  # fmt: skip
