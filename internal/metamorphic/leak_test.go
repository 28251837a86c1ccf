package metamorphic

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails if a goroutine still runs when all tests have ended. The clock of the regular
// expressions stops by itself a while after the last match.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2.runClock"))
}
