def draw(browser, document, background):
    raise NotImplementedError
