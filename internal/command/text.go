package command

import (
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// PrefixError puts context before the message of a user error.
func PrefixError(err error, format string, args ...any) error {
	var e *mongoerr.Error
	if errors.As(err, &e) {
		return e.Prefix(format, args...)
	}
	return err
}

// FormatDoc prints a document for logs.
func FormatDoc(d bsonx.Doc) string { return bsonx.FormatShell(bsonx.Document(d)) }
