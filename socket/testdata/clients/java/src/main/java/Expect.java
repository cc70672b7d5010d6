final class Expect {
    private Expect() {}

    static void that(String what, Object got, boolean ok) {
        if (!ok) {
            throw new AssertionError(what + " = " + got);
        }
    }

    static void same(String what, Object got, Object want) {
        that(what, got, want == null ? got == null : want.equals(got));
    }
}
