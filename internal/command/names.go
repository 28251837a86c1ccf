package command

import (
	"os"
	"strconv"
	"strings"
	"unique"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// maxDatabaseName is the longest database name in bytes.
const maxDatabaseName = 63

// internDB returns the database's name as a string that is shared between requests.
func (s *Service) internDB(b []byte) string {
	switch string(b) { // the compiler does not allocate for these comparisons
	case "admin":
		return "admin"
	case "test":
		return "test"
	}
	if len(b) > maxDatabaseName {
		return string(b)
	}
	return unique.Make(string(b)).Value()
}

// checkDatabaseName applies the rules that hold for every $db.
func checkDatabaseName(db string) error {
	if db == "" || len(db) > maxDatabaseName || strings.ContainsAny(db, "\x00/\\. \"$") && db != "$external" {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid database name: '%s'", db)
	}
	return nil
}

// namespace names what the command works on, for currentOp and logs: "db.collection", or "db.$cmd".
func (r *Request) namespace() string {
	v := r.CommandValue()
	if r.Def.Name == "getMore" {
		v = r.Get("collection")
	}
	if v.Type == bsonx.TypeString {
		if r.Def.AdminOnly {
			return v.Str()
		}
		return r.DB + "." + v.Str()
	}
	return r.DB + ".$cmd"
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func processID() int { return os.Getpid() }

func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}
