"""The lock file of this workspace has no other versions than the main one."""

import re

from conftest import ROOT


def versions(path):
    found = re.findall(r'name = "([^"]+)"\nversion = "([^"]+)"', path.read_text())
    return {name: {v for n, v in found if n == name} for name, _ in found}


def test_both_lock_files_have_the_same_versions():
    main, own = versions(ROOT / "Cargo.lock"), versions(ROOT / "python/Cargo.lock")
    other = {name: own[name] - main[name] for name in own if name in main and own[name] - main[name]}
    assert other == {}
