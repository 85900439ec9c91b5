"""What users read is true: commands in it run, what they print is what stands there, links lead somewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from redisop.live.metrics import Metrics, Sources
from redisop.live.queue import Figures
from tests import reference

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGE_OF_RUN = (ROOT / "docs/run.md").read_text()
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)


def commands(page: Path) -> list[tuple[str, str]]:
    """Every command in a console block that needs redisop alone, with what stands below it."""
    found = []
    for block in CONSOLE.findall(page.read_text()):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            if "kubectl" not in command:
                found.append((command, output))
    return found


@pytest.mark.parametrize(("command", "output"), [case for page in PAGES for case in commands(page)])
def test_a_command_in_the_docs_prints_what_stands_below_it(command: str, output: str) -> None:
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env={**os.environ, "PATH": programs}, capture_output=True, text=True
    )
    assert done.stdout + done.stderr == output


def test_the_suite_runs_the_commands_of_the_readme_word_for_word() -> None:
    install, test = re.findall(r"```sh\n(.*?)\n```", (ROOT / "README.md").read_text(), re.DOTALL)[:2]
    script = (ROOT / ".ci/run").read_text().splitlines()
    assert install in script
    assert test in script


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text())
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_the_page_of_run_has_every_option_and_its_variable() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "redisop", "run", "--help"], capture_output=True, text=True, check=True
    )
    options = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", shown.stdout.partition("Options:")[2], re.MULTILINE)) - {
        "help"
    }
    assert len(options) > 5
    said = {option for option in options if f"REDISOP_{option.replace('-', '_').upper()}" in PAGE_OF_RUN}
    assert said == options


def test_the_page_of_run_names_no_metric_that_there_is_not() -> None:
    sources = Sources(lambda: Figures(*[0] * 7), dict, dict, lambda: True, "api", 4)
    shown = Metrics(sources).exposition("")[0].decode()
    named = re.findall(
        r"\b(?:redisop_[a-z_]+|controller_runtime_[a-z_]+|workqueue_[a-z_]+|leader_[a-z_]+)", PAGE_OF_RUN
    )
    assert len(named) > 10
    assert [name for name in named if f"# TYPE {name} " not in shown] == []


def test_the_page_of_fields_is_that_of_the_crd() -> None:
    assert (ROOT / "docs/api.md").read_text() == reference.page()


def test_the_crd_in_the_repository_is_that_of_the_models() -> None:
    done = subprocess.run([sys.executable, "-m", "redisop", "crd"], capture_output=True, text=True, check=True)
    assert (ROOT / "crds/redises.yaml").read_text() == done.stdout
