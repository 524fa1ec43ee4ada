"""In which forms is each story told? In both languages, with script and without."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.sync_api import Locator, Page, expect

from tests.browser.site import OpenPage
from tests.browser.stories.shop import SOON
from tests.services.process import wait_until
from tests.web.desk import PASSWORD

#: How "Look again" is called, which stands where a page does not look by itself.
LOOK_AGAIN = {"en-US": "Look again", "pt-BR": "Ver de novo"}

#: Windows of less than this have no room for the list of pages.
NARROW = 720


@dataclass(frozen=True, slots=True)
class Case:
    """One telling.

    Attributes:
        language: of the browser.
        script: whether pages may run any.
        width: of the window.
        branch: tells the people and accounts of this telling from those of the others.
    """

    language: str
    script: bool
    width: int
    branch: str

    def open(self, open_page: OpenPage, name: str, *, expects: tuple[str, ...] = ()) -> Page:
        """The first page after somebody has logged in."""
        page = open_page(
            "/login", name="", language=self.language, width=self.width, script=self.script, expect=expects
        )
        page.locator("#name").fill(name)
        page.locator("#password").fill(PASSWORD)
        page.locator("#password").press("Enter")
        expect(page.locator("nav.side a[aria-current=page]")).to_have_count(1)
        return page

    def turn_to(self, page: Page, name: str) -> None:
        """Go to another page by its link in the frame, which a phone keeps behind a button."""
        if self.width < NARROW:
            page.locator(".bar summary", has_text="Menu").click()
        page.locator("nav:visible").get_by_role("link", name=name).first.click()

    def follow(self, part: Locator, text: str) -> None:
        """Wait until the page says so: by itself with script; without, by looking again."""
        if self.script:
            expect(part).to_contain_text(text)
            return

        def look() -> bool:
            if text in part.inner_text():
                return True
            again = part.page.get_by_role("link", name=LOOK_AGAIN[self.language]).first
            again.click()
            return False

        wait_until(look, SOON, f"the page to say: {text}")


#: A phone is among them.
CASES = (
    Case("en-US", script=True, width=1366, branch="sp"),
    Case("pt-BR", script=True, width=390, branch="rj"),
    Case("pt-BR", script=False, width=1366, branch="ce"),
    Case("en-US", script=False, width=1366, branch="pr"),
)
