package command

import (
	"os"
	"strconv"
	"strings"
	"unique"

	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// internDB returns the name of a database as a string that all connections share.
func internDB(b []byte) string {
	switch string(b) { // the compiler does not allocate for these comparisons
	case "admin":
		return "admin"
	case "test":
		return "test"
	}
	if len(b) > limits.DatabaseNameBytes {
		return string(b)
	}
	return unique.Make(string(b)).Value()
}

// checkDatabaseName checks the name of a database by the rules that every command applies to $db.
func checkDatabaseName(db string) error {
	if db == "" || len(db) > limits.DatabaseNameBytes || strings.ContainsAny(db, "\x00/\\. \"$") && db != "$external" {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid database name: '%s'", db)
	}
	return nil
}

func processID() int { return os.Getpid() }

func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}

// BulkWriteCursor is the name of the collection in the namespace of a bulkWrite cursor; its
// database is admin.
const BulkWriteCursor = "$cmd.bulkWrite"

// ConnName returns the name of a connection in mongod's log format, such as conn7.
func ConnName(id int64) string { return "conn" + strconv.FormatInt(id, 10) }
