"""Random models whose answers are known: the campaign behind docs/trust.md.

    python -m tests.fuzz --models 3000 --seed 1 --minutes 60

A *part* is one small random model: its Python text, and what it has to give. Parts of one batch become
the components of one larger model, since compiling takes longer than running; each is judged by itself.
What goes wrong is taken apart: a batch into halves, a part into smaller ones, until nothing can be
left out.

| file | idea |
|---|---|
| `parts.py`, `generate.py` | what a part is; a part from kind, seed and number |
| `signals.py` | functions of time with their derivatives, as numbers and as text |
| `manufactured.py`, `world.py`, `couplings.py` | equations around chosen solutions; terms between them |
| `gadgets.py`, `constraints.py`, `components.py` | groups of equations: free, constrained, connected |
| `algebra.py` | nonlinear equations, followed by continuation; roots that end |
| `circuits.py`, `circuit_source.py`, `tableau.py` | random circuits; an integrator of their own |
| `hybrid.py`, `switching.py` | systems that switch; what such a system is |
| `state_events.py`, `time_events.py`, `mode_events.py` | such systems |
| `pieces.py` | closed forms between events |
| `wrong.py`, `wrong_events.py`, `wrong_part.py` | models that have no answer |
| `run.py`, `judge.py` | run a batch; its outcome |
| `worker.py`, `campaign.py` | processes that run batches; who takes them apart |
| `shrink.py` | the smallest part that still fails |
| `tally.py` | the table in docs/trust.md |
"""
