"""The page as a whole: its tabs, its look, its queue. The look is in ``shown/studio.css``, its fonts the system's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from psitext.studio import shown
from psitext.studio.models import Shelf
from psitext.studio.tabs import circuits, measurement, neighbours, states, writing
from psitext.studio.work import WAITING, Studio, Worker

CSS = Path(shown.__file__).with_name("studio.css")
HOUR = 3_600  # seconds; uploads are removed after one


def build(shelf: Shelf, worker: Worker | None = None) -> Any:
    """The page as gradio's Blocks, with its queue."""
    import gradio as gr

    studio = Studio(shelf, worker or Worker())
    with gr.Blocks(title="psitext studio", analytics_enabled=False, delete_cache=(HOUR, HOUR)) as page:
        gr.Markdown("# psitext studio\nSentences as states, on this machine.")
        with gr.Tabs(elem_id="studio-tabs"):
            for tab in (states, measurement, circuits, writing, neighbours):
                tab.lay(studio)
    page.queue(max_size=WAITING, default_concurrency_limit=1)
    return page


def look() -> dict[str, Any]:
    """How gradio shows it: nothing is fetched from elsewhere, so no web fonts."""
    import gradio as gr

    font = gr.themes.Font
    theme = gr.themes.Default(
        primary_hue="blue",
        font=[font("system-ui"), font("sans-serif")],
        font_mono=[font("ui-monospace"), font("monospace")],
    ).set(  # gradio's greys of remarks are too light to be read
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_300",
        block_info_text_color="*neutral_600",
        block_info_text_color_dark="*neutral_300",
        input_placeholder_color="*neutral_500",
        input_placeholder_color_dark="*neutral_400",
    )
    # As a style sheet of the page, since gradio would put its own selectors in front of each of ours.
    return {"theme": theme, "head": f"<style>{CSS.read_text(encoding='utf-8')}</style>"}
