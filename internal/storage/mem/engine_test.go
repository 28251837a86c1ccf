package mem_test

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/storage/storagetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, func(t testing.TB) storage.Engine {
		e := mem.New()
		t.Cleanup(func() { _ = e.Close() })
		return e
	})
}
