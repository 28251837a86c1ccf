package parsing

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// CheckCollection refuses a name that no collection can have; an empty one is each stage's own matter.
func CheckCollection(name string) error {
	switch {
	case strings.IndexByte(name, 0) >= 0:
		return mongoerr.New(mongoerr.InvalidNamespace, "namespaces cannot have embedded null characters")
	case strings.HasPrefix(name, "."):
		return mongoerr.New(mongoerr.InvalidNamespace, "Collection names cannot start with '.': %s", name)
	}
	return nil
}
