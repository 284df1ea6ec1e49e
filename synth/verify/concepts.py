"""What a word is about: one concept for words that ordinary English exchanges, and which words are opposites.

Forms of one word share a concept by their beginning ("convert", "conversion"), synonyms by the groups below. It is for
finding again what was said in other words: that two words share a concept never proves anything by itself.
"""

from __future__ import annotations

from functools import lru_cache

from .stems import stem

_BEGINNING = 6  # letters that the forms of one word have in common, most often

_SYNONYMS = """
return give yield get obtain receive hand deliver result output come produce
create make build construct generate form establish
use utilize employ apply usage serve
show display present render visualize
remove delete drop strip discard eliminate take
change modify alter edit mutate adapt adjust update
keep retain preserve maintain hold remain stay
begin start initiate open
end finish stop terminate close complete cease conclude last
allow permit enable let admit accept
forbid prohibit disallow ban prevent
need require must necessary demand essential
check verify test validate examine ensure sure inspect
find locate search look seek determine discover detect
choose select pick choice
contain include comprise hold consist have
join connect link combine concatenate merge
divide split separate cut part apart
convert transform turn translate cast map become
send transmit dispatch forward emit
fetch download load retrieve
save store write record persist
read parse interpret
run execute perform invoke call carry
fail error exception raise throw
skip ignore omit leave disregard pass
equal same identical alike equivalent match
differ different other distinct vary
large big great wide huge
small tiny little least
fast quick speed rapid performance efficient optimize faster fastest
good better best improve well worse
guarantee ensure
whole entire complete full total
every each all any
often usually usual mostly typical general normal common commonly
rarely seldom
main chief primary principal
begin first initial
final last ultimate end
earlier before prior previous beforehand
later after afterwards subsequent
now current present presently
enough suffice sufficient
exact precise accurate
wrong incorrect false mistaken invalid bad
right correct true valid
empty blank void
missing absent lack none without
exist present available there
own itself self
number count amount quantity
place position location where
size dimension length width
way manner method approach fashion how
kind type sort form class variety
aim goal purpose intend meant
reason cause why because since
example instance case
thing object item element
part piece portion section component member
list enumerate sequence series
pair two both couple
once one single sole alone
half halve
twice double
need depend rely
specify define set give state
name call term label
describe explain tell say note
mean signify stand represent
behave behavior work act
help aid assist useful
fit suit suitable appropriate
derive inherit subclass base
belong associate relate
happen occur take
appear occur show
try attempt
user people person caller client one somebody
function method routine helper
argument parameter option keyword input
value entry
dictionary dict mapping
text string prose
copy clone duplicate
directory folder
path file
image picture
row line record
edge link
node vertex
point place
draw paint plot
default unless otherwise
automatic itself
manual hand
direct immediate once
likely probable
important matter
advise recommend suggest recommended advisable should
replace substitute exchange stead
override overwrite replace
limit restrict confine bound
compare comparison
arrange sort order
group gather collect collection
share common
add append attach insert supply
wrap enclose surround
follow next subsequent after
support cope handle deal cater
look treat regard consider
register record
access reach
cost expensive
aware know known knowledge
describe documentation document
copy copied
offer provide supply
multiple several many
additional further more extra
together along
special specific particular
guess infer
reconstruct rebuild
produce originate come
network web
expect suppose assume
answer reply response
ask request query question
visible seen see
shut close
point refer reference indicate
ease simple simplify easy plain
hard difficult complicated
decode decompress
prior beforehand
leading first
trailing last
occur occurrence
""".strip()  # fmt: skip

_OPPOSITES = """
before after|first second|first last|smallest largest|least greatest|minimum maximum|min max|lower upper|
lowest highest|lower higher|smaller larger|smaller greater|less more|fewer more|shorter longer|shortest longest|
newer older|newest oldest|earlier later|earliest latest|slower faster|slowest fastest|below above|inside outside|
within outside|within beyond|before beyond|left right|top bottom|up down|horizontal vertical|row column|
relative absolute|local remote|global local|positive negative|signed unsigned|even odd|lossless lossy|open closed|
public private|static dynamic|mutable immutable|valid invalid|true false|equal unequal|same different|known unknown|
defined undefined|present absent|existing missing|supported unsupported|masked unmasked|ordered unordered|
sorted unsorted|directed undirected|weighted unweighted|encoded decoded|encoder decoder|encode decode|
compress decompress|read write|reads writes|input output|inputs outputs|source target|source destination|
sender receiver|send receive|client server|producer consumer|parent child|head tail|start end|begin end|
prefix suffix|leading trailing|uppercase lowercase|forward backward|forwards backwards|ascending descending|
increase decrease|increases decreases|increasing decreasing|raise lower|add remove|adds removes|added removed|
append prepend|insert delete|insert remove|enable disable|enabled disabled|allow forbid|allowed forbidden|
accept reject|accepts rejects|include exclude|included excluded|includes excludes|import export|save load|push pull|
lock unlock|show hide|attach detach|connect disconnect|register unregister|select deselect|check uncheck|
checked unchecked|upsample downsample|upsampling downsampling|upsamples downsamples|encrypt decrypt|finite infinite|
bounded unbounded|integer float|strict lax|strict loose|optional required|optional mandatory|mutable frozen|
implicit explicit|implicitly explicitly|synchronous asynchronous|lazy eager|lazily eagerly|sparse dense|hot cold|
fast slow|easy hard|simple complex|cheap expensive|common rare|often rarely|always never|everything nothing|
everyone nobody|everywhere nowhere|all none|automatic manual|automatically manually|internal external|
interactive non-interactive|direct indirect|directly indirectly|empty full|single multiple|numerator denominator|
row-major column-major|success failure|succeeds fails|succeed fail|pass fail|passes fails|best worst|better worse|
physical visual|visible hidden|on off|with without|if unless|regular irregular|complete incomplete|
normalized unnormalized|sensitive insensitive|dependent independent|reversible irreversible|stable unstable|
safe unsafe|blocking non-blocking|nullable non-nullable|yes no|nearest farthest|near far|narrow wide|shallow deep|
parallel sequential|primary secondary|major minor|inner outer|request response|question answer|win lose|gain loss|
rise fall|grow shrink|expand collapse|expand contract|widen narrow|merge split|union intersection|superset subset|
ancestor descendant|predecessor successor|previous next|past future|buy sell|arrive depart|north south|east west|
summer winter|day night|male female|young old|warm cool|heat cool|acid base|convex concave|
clockwise counterclockwise|real imaginary|rational irrational|linear nonlinear|stronger weaker|strong weak|
thick thin|heavy light|rough smooth|debit credit|profit loss|domestic foreign|upstream downstream|stale fresh|
temporary permanent|recursive iterative|legal illegal|possible impossible|able unable|capitalized uncapitalized|
trainable frozen|supervised unsupervised|visited unvisited|used unused|bound unbound|modified unmodified|
changed unchanged|resolved unresolved|sufficient insufficient|necessary unnecessary|significant insignificant|
most least|many few|late early|high low|large small|big small|long short|great small|new old|good bad|right wrong|
correct incorrect|accurate inaccurate|consistent inconsistent|compatible incompatible|adjacent nonadjacent|
even uneven|always sometimes|everything something|entire partial|entirely partly|fully partially|
completely partially|whole fractional|suffer benefit|reduce improve|reduce increase|worsen improve|until after|
append remove|put take|put pull|puts takes|ahead behind|behind before|host target|truthy falsy|continue stop|
continue abort|agree disagree|success error|exact approximate|exactly roughly
""".replace("\n", "")  # fmt: skip


def _groups() -> dict[str, str]:
    """The concept of each word that is in a group: that of the first group it is in."""
    found: dict[str, str] = {}
    for line in _SYNONYMS.splitlines():
        words = [stem(word) for word in line.split()]
        known = next((found[word] for word in words[:1] if word in found), words[0])
        for word in words:
            found.setdefault(word, known)
    return found


_CONCEPTS = _groups()
def _pairs() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in _OPPOSITES.split("|"):
        one, other = pair.split()
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


OPPOSITES = _pairs()
"""By word in small letters: what would say the contrary in its place."""


@lru_cache(maxsize=50_000)
def concept(word: str) -> str:
    """What the stem of a word is about."""
    known = _CONCEPTS.get(word)
    if known is not None:
        return known
    if not word.isascii() or not word.isalpha():
        return word
    return _CONCEPTS.get(word[:_BEGINNING], word[:_BEGINNING])


def _contrary() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for word, others in OPPOSITES.items():
        found.setdefault(concept(stem(word)), set()).update(concept(stem(other)) for other in others)
    return {name: frozenset(others - {name}) for name, others in found.items()}


CONTRARY = _contrary()
"""By concept: those of its words' opposites."""
