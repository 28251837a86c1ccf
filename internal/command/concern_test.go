package command_test

import (
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/sheaftest"
)

// TestValuesOfConcerns gives the fields of read and write concerns values at their limits. The
// codes and texts for a standalone server were recorded from a MongoDB engine.
func TestValuesOfConcerns(t *testing.T) {
	t.Parallel()
	alone, err := sheaf.Open(sheaf.Memory, &sheaf.Options{Standalone: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = alone.Close() })
	member := sheaftest.New(t).Database("d")
	const (
		read  = "readConcern"
		write = "writeConcern"
	)
	for _, c := range []struct {
		field, concern string
		standalone     int
		member         int
		text           string
	}{
		{write, `{"w": 1, "wtimeout": 2147483647}`, 0, 0, ""},
		{write, `{"w": 1, "wtimeout": 2147483648}`, 9, 9, "wtimeout must be a 32-bit integer"},
		{write, `{"wtimeout": 1e12}`, 9, 9, "wtimeout must be a 32-bit integer"},
		{write, `{"w": 1, "wtimeout": -1e12}`, 0, 0, ""},
		{write, `{"w": 1, "provenance": "x"}`, 2, 2, "Enumeration value 'x' for field 'WriteConcernOptions.provenance' is not a valid value."},
		{write, `{"w": 1, "provenance": ""}`, 2, 2, "Enumeration value '' for field 'WriteConcernOptions.provenance' is not a valid value."},
		{write, `{"w": 1, "provenance": "clientSupplied"}`, 0, 0, ""},
		{write, `{"w": 1, "provenance": "internalWriteDefault"}`, 0, 0, ""},
		{write, `{"w": 50}`, 2, 100, ""},
		{write, `{"w": 51}`, 9, 9, "w has to be a non-negative number and not greater than 50; found: 51"},
		{write, `{"w": ""}`, 2, 79, "mode"},
		{write, `{"w": "x"}`, 2, 79, "mode"},
		{write, `{"w": null}`, 2, 0, `cannot use non-majority 'w' mode "" when a host is not a member of a replica set`},
		{write, `{"w": "majority\u0000"}`, 9, 9, "w has illegal embedded NUL byte, w: majority\x00"},
		{write, `{"w": "majority"}`, 0, 0, ""},
		{read, `{"provenance": "x"}`, 2, 2, "Enumeration value 'x' for field 'readConcern.provenance' is not a valid value."},
		{read, `{"level": "local", "provenance": ""}`, 2, 2, "Enumeration value '' for field 'readConcern.provenance' is not a valid value."},
		{read, `{"provenance": "implicitDefault"}`, 0, 0, ""},
	} {
		concern := bsonxtest.ParseD(t, c.concern)
		cmd := bson.D{{"find", "c"}, {read, concern}}
		if c.field == write {
			cmd = bson.D{{"insert", "c"}, {"documents", bson.A{bson.D{}}}, {write, concern}}
		}
		for _, server := range []struct {
			db   *mongo.Database
			code int
		}{{alone.Client().Database("d"), c.standalone}, {member, c.member}} {
			err := errorOf(server.db.RunCommand(t.Context(), cmd))
			if server.code != 0 {
				mustHaveCode(t, err, server.code, c.text)
			} else if err != nil {
				t.Errorf("%s %s: %v", c.field, c.concern, err)
			}
		}
	}
}

// errorOf returns the error of a reply, or its write concern error.
func errorOf(r *mongo.SingleResult) error {
	err := r.Err()
	if e, ok := errors.AsType[mongo.WriteException](err); ok && e.WriteConcernError != nil {
		return mongo.CommandError{Code: int32(e.WriteConcernError.Code), Message: e.WriteConcernError.Message}
	}
	return err
}
