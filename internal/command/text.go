package command

import (
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// PrefixError puts a formatted text before the message of a user error. It returns any other error
// unchanged.
func PrefixError(err error, format string, args ...any) error {
	var e *mongoerr.Error
	if errors.As(err, &e) {
		return e.Prefix(format, args...)
	}
	return err
}

// FormatDoc formats a document for logs, in the syntax of the shell.
func FormatDoc(d bsonx.Doc) string { return bsonx.FormatShell(bsonx.Document(d)) }

// AppendNumber appends n as an int32 if it fits and otherwise as an int64, as mongod does for
// sizes.
func AppendNumber(b *bsonx.Builder, key string, n int64) {
	if int64(int32(n)) == n {
		b.Int32(key, int32(n))
	} else {
		b.Int64(key, n)
	}
}
