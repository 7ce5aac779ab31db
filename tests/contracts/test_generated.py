"""Generated files are what their sources say."""

import pytest

from tools.generate import ROOT, pages


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_generated_page_is_up_to_date(path):
    assert path.read_text(encoding="utf-8") == pages()[path], f"{path.name} is stale; run 'make docs'"
