package crud

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/read"
)

// statementFields are arguments that both update and delete have.
var statementFields = []command.Field{
	{Name: "stmtId", Type: command.Int},
	{Name: "stmtIds", Type: command.Array},
	command.CollectionUUID,
	encryptionInformation,
	isTimeseriesNamespace,
}

// prepareStatements checks an update or a delete and parses its statements, before any of them
// runs. field is the argument with the statements. prepareStatements appends the statements to out,
// which must be empty.
func prepareStatements[T any](req *command.Request, field string, out []T, parse func(doc bsonx.Doc) (T, error)) (
	name string, specs []T, sc read.Scope, err error,
) {
	if name, err = req.CollectionName(); err != nil {
		return "", out, sc, err
	}
	if err = catalog.CheckWrite(req.DB, name); err != nil {
		return "", out, sc, err
	}
	if specs, err = parseStatements(req, field, out, parse); err != nil {
		return "", specs, sc, err
	}
	if err = checkBuckets(req, name); err != nil {
		return "", specs, sc, err
	}
	if sc, err = newStatementScope(req, name); err != nil {
		return "", specs, sc, err
	}
	return name, specs, sc, readStatements(req, len(specs))
}

// eachStatement runs statements by their index, and collects their errors. It stops after the first
// error if the statements are ordered. It returns how many statements were tried, and the error
// that ends the whole command, if there is one.
func eachStatement(n int, ordered bool, failures *writeErrors, run func(i int) error) (tried int, err error) {
	for i := range n {
		err := run(i)
		switch {
		case err == nil:
			continue
		case endsCommand(err):
			return i + 1, err
		}
		failures.add(i, err)
		if ordered {
			return i + 1, nil
		}
	}
	return n, nil
}

// parseStatements parses all statements of a write command before any of them runs. It appends the
// statements to out, which must be empty.
func parseStatements[T any](req *command.Request, field string, out []T,
	parse func(doc bsonx.Doc) (T, error),
) ([]T, error) {
	n := req.DocumentCount(field)
	if err := checkBatch(n); err != nil {
		return out, req.Malformed(err)
	}
	out = slices.Grow(out, n)
	err := req.Documents(field, func(_ int, doc bsonx.Doc) error {
		if err := command.CheckStrictStatement(req, field, doc); err != nil {
			return err
		}
		s, err := parse(doc)
		out = append(out, s)
		return err
	})
	return out, req.Malformed(err)
}

// newStatementScope is NewScope for a command that has statements, such as update. An invalid let
// or a wrong collectionUUID does not fail the command: the scope holds the error as Mistake, and
// each statement reports it.
func newStatementScope(req *command.Request, name string) (read.Scope, error) {
	sc, err := command.NewScope(req)
	if err == nil {
		err = command.CheckUUID(req, name)
	}
	if err == nil || endsCommand(err) {
		return sc, err
	}
	sc.Mistake = err
	return sc, nil
}

// checkWithout checks a statement on a collection that does not exist. It returns an error for a
// $text query, because there is no text index, and for an invalid hint.
func checkWithout(db, name string, f *filter.Filter, hint bsonx.Value) error {
	if f != nil && f.Text() != nil {
		return query.NoTextIndex(db + "." + name)
	}
	return query.CheckHint(hint)
}
