package command

import (
	"os"
	"testing"

	"github.com/sheafdb/sheaf/internal/torture"
)

func TestMain(m *testing.M) {
	torture.SetChecks()
	os.Exit(m.Run())
}
