package plan_test

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/torture"
)

func TestMain(m *testing.M) {
	torture.SetChecks()
	m.Run()
}
