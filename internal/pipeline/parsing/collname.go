package parsing

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// CheckCollection returns an error if no collection can have the name. It accepts an empty name,
// which each stage handles itself.
func CheckCollection(name string) error {
	switch {
	case strings.IndexByte(name, 0) >= 0:
		return mongoerr.New(mongoerr.InvalidNamespace, "namespaces cannot have embedded null characters")
	case strings.HasPrefix(name, "."):
		return mongoerr.New(mongoerr.InvalidNamespace, "Collection names cannot start with '.': %s", name)
	}
	return nil
}
