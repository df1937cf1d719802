"""The papers' figures and claims, one module a paper, each offering `PAPER`; imported when used."""

PAPERS: dict[str, str] = {
    "002": "headrace.lab.experiments.paper002",
    "004": "headrace.lab.experiments.paper004",
}
