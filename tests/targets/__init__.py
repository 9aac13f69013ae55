"""Real agents as targets: installed by `make targets`, certified by the tests here."""
