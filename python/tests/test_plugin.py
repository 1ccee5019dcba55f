"""The pytest plugin, run by pytest in a folder of its own."""

TESTS = """
import pytest
import warpline

BUG = "museum/m40_missing_vmcnt/bug"

@warpline.proved
def good():
    return "hopper/tma_wgmma"

@warpline.proved(suggest=False)
@pytest.mark.parametrize("name", ["hopper/tma_wgmma", BUG])
def kernel(name):
    return name

def test_verdict():
    assert warpline.verify(BUG).proved

def test_other():
    warpline.verify(BUG)
    assert True
"""


def test_failures_print_the_counterexample(pytester):
    pytester.makepyfile(TESTS)
    found = pytester.runpytest_subprocess("-v", "-p", "no:cacheprovider")
    found.assert_outcomes(passed=3, failed=2)
    found.stdout.fnmatch_lines(
        [
            "*::good PASSED*",
            "*::kernel*tma_wgmma* PASSED*",
            "*::kernel*bug* FAILED*",
            "*::test_verdict FAILED*",
            "*::test_other PASSED*",
            "*the kernel is not proved*",
            "*kernel.pipe:12*",
            "*warpline: museum/m40_missing_vmcnt/bug*",
            "*WL0101 RAW race*",
        ]
    )
    found.stdout.no_fnmatch_line("*PytestReturnNotNone*")
    found.stdout.no_fnmatch_line("*pytest_pyfunc_call*")  # the text of the plugin says nothing about the kernel


def test_a_decorated_factory_returns_its_kernel():
    import warpline

    assert warpline.proved(lambda: "hopper/tma_wgmma")() == "hopper/tma_wgmma"
