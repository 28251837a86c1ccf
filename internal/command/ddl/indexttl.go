package ddl

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// checkTTLIndex checks the option expireAfterSeconds of an index specification.
func checkTTLIndex(s *indexSpec) error {
	if s.ttl.IsMissing() {
		return nil
	}
	wrong := ""
	n := bsonx.SaturatingInt64(s.ttl)
	switch {
	case !s.ttl.Type.IsNumber():
		wrong = "TTL index 'expireAfterSeconds' option must be numeric, but received a type of '" + s.ttl.Type.String() + "'"
	case isNaN(s.ttl):
		wrong = "TTL index 'expireAfterSeconds' option must not be NaN"
	case n < 0:
		wrong = "TTL index 'expireAfterSeconds' option cannot be less than 0"
	case n > limits.TTLSeconds:
		wrong = "TTL index 'expireAfterSeconds' option must be within an acceptable range, try a lower number"
	case s.raw.Lookup("key").Doc().Len() > 1:
		wrong = "TTL indexes are single-field indexes, compound indexes do not support TTL"
	default:
		return nil
	}
	return cannotCreate("%s. Index spec: %s", wrong, bsonx.FormatShell(bsonx.Document(s.raw)))
}

func isNaN(v bsonx.Value) bool {
	f, ok := v.AsFloat64()
	return ok && math.IsNaN(f)
}

// checkIndexTTL checks the expireAfterSeconds that collMod sets for an index.
func checkIndexTTL(v bsonx.Value, key bsonx.Doc) error {
	switch n := bsonx.SaturatingInt64(v); {
	case isNaN(v):
		return mongoerr.New(mongoerr.InvalidOptions, "TTL index 'expireAfterSeconds' option must not be NaN")
	case n < 0:
		return mongoerr.New(mongoerr.InvalidOptions, "TTL index 'expireAfterSeconds' option cannot be less than 0")
	case n > limits.TTLSeconds:
		return mongoerr.New(mongoerr.InvalidOptions,
			"TTL index 'expireAfterSeconds' option must be within an acceptable range, try a lower number")
	case key.Len() != 1:
		return mongoerr.New(mongoerr.InvalidOptions, "TTL indexes are single-field indexes, compound indexes do not support TTL")
	case index.KindOf(key) == index.Wildcard:
		return errWildcardTTL
	}
	return nil
}

// checkCollectionTTL checks the expireAfterSeconds of a whole collection. It may not reach back
// beyond 1970.
func checkCollectionTTL(req *command.Request, v bsonx.Value) error {
	switch n := bsonx.SaturatingInt64(v); {
	case n < 0:
		return mongoerr.New(mongoerr.InvalidOptions, "TTL index 'expireAfterSeconds' option cannot be less than 0")
	case n > req.Now.Unix():
		return mongoerr.New(mongoerr.InvalidOptions,
			"TTL index 'expireAfterSeconds' option must be within an acceptable range, try a lower number")
	}
	return nil
}

// checkCreateTTL checks create's option expireAfterSeconds.
func checkCreateTTL(req *command.Request) error {
	v := req.Get("expireAfterSeconds")
	switch {
	case v.IsMissing():
		return nil
	case !req.Get("clusteredIndex").Truthy() && !req.Has("timeseries"):
		return mongoerr.New(mongoerr.InvalidOptions, "'expireAfterSeconds' is only supported on time-series collections or when the "+
			"'clusteredIndex' option is specified")
	}
	return checkCollectionTTL(req, v)
}

// checkModifyTTL checks collMod's option expireAfterSeconds. "off" turns the expiry off.
func checkModifyTTL(req *command.Request, options bsonx.Doc) error {
	v := req.Get("expireAfterSeconds")
	switch {
	case v.IsMissing():
		return nil
	case options.Lookup("clusteredIndex").IsMissing() && options.Lookup("timeseries").IsMissing():
		return mongoerr.New(mongoerr.InvalidOptions, "'expireAfterSeconds' option is only supported on collections clustered by _id")
	case v.Type != bsonx.TypeString:
		return checkCollectionTTL(req, v)
	case v.Str() != "off":
		return mongoerr.New(mongoerr.InvalidOptions,
			"Invalid string value for the 'clusteredIndex::expireAfterSeconds' option. Got: '%s'. Accepted value is 'off'", v.Str())
	}
	return nil
}

// modifyTTL returns the options with the expireAfterSeconds that collMod sets, and whether it sets
// it.
func modifyTTL(req *command.Request, options bsonx.Doc) (bsonx.Doc, bool) {
	v := req.Get("expireAfterSeconds")
	switch {
	case v.IsMissing():
		return options, false
	case v.Type == bsonx.TypeString:
		return options.With("expireAfterSeconds", bsonx.Missing), true
	default:
		return options.With("expireAfterSeconds", bsonx.Int64(bsonx.SaturatingInt64(v))), true
	}
}
