package ddl

import (
	"fmt"
	"math"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// The error codes of MongoDB for geospatial indexes.
const (
	codeTwoPlanes     = mongoerr.Code(16800)
	codePlaneNotFirst = mongoerr.Code(16801)
	codeCoarsestLevel = mongoerr.Code(16747)
	codeFinestLevel   = mongoerr.Code(16748)
	codeLevelOrder    = mongoerr.Code(16749)
)

// checkKinds returns an error if the key pattern has more than one special index type, such as text
// and 2d.
func (s *indexSpec) checkKinds() error {
	kind := ""
	for it := s.key.Iter(); it.Next(); {
		v := it.Value()
		if v.Type != bsonx.TypeString {
			continue
		}
		if kind != "" && kind != v.Str() {
			return cannotCreate("Can't use more than one index plugin for a single index.")
		}
		kind = v.Str()
	}
	return nil
}

// checkGeo checks the options of a geospatial index.
func (s *indexSpec) checkGeo() error {
	switch index.KindOf(s.key) {
	case index.Plane:
		return s.checkPlane()
	case index.Sphere:
		return s.checkSphere()
	default:
		return nil
	}
}

func (s *indexSpec) checkPlane() error {
	fields, first := 0, 0
	i := 0
	for it := s.key.Iter(); it.Next(); i++ {
		if index.FieldKind(string(it.Key()), it.Value()) == index.Plane {
			fields, first = fields+1, i
		}
	}
	bits, low, high := index.GridOptions(s.raw)
	switch {
	case fields > 1:
		return mongoerr.New(codeTwoPlanes, "can't have 2 geo fields")
	case first > 0:
		return mongoerr.New(codePlaneNotFirst, "2d has to be first in index")
	case bits < 1 || bits > 32:
		return mongoerr.New(mongoerr.InvalidOptions, "bits for hash must be > 0 and <= 32, but %d bits were specified", bits)
	case !(low < high) || math.IsInf(low, 0) || math.IsInf(high, 0):
		return mongoerr.New(mongoerr.InvalidOptions,
			"region for hash must be valid and have positive area, but [%s, %s] was specified", formatBound(low), formatBound(high))
	default:
		return nil
	}
}

// formatBound formats a number as MongoDB's messages do, for example inf, -inf and nan.
func formatBound(f float64) string {
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%g", f), "+"))
}

func (s *indexSpec) checkSphere() error {
	version, coarsest, finest := int64(3), int64(0), int64(23)
	for name, at := range map[string]*int64{
		sphereVersion: &version, "coarsestIndexedLevel": &coarsest, "finestIndexedLevel": &finest,
	} {
		v := s.raw.Lookup(name)
		switch n, ok := v.AsExactInt64(); {
		case v.IsMissing():
		case ok:
			*at = n
		default:
			return mongoerr.New(mongoerr.BadValue,
				"Expected field \"%s\" to have a value exactly representable as a 64-bit integer, but found %s: %s", name, name, bsonx.FormatShell(v))
		}
	}
	switch {
	case coarsest < 0:
		return mongoerr.New(codeCoarsestLevel, "coarsestIndexedLevel must be >= 0")
	case finest > 30:
		return mongoerr.New(codeFinestLevel, "finestIndexedLevel must be <= 30")
	case finest < coarsest:
		return mongoerr.New(codeLevelOrder, "finestIndexedLevel must be >= coarsestIndexedLevel")
	default:
		return nil
	}
}

const sphereVersion = "2dsphereIndexVersion"

// checkSphereVersion returns an error for a version of 2dsphere indexes that does not exist.
func (s *indexSpec) checkSphereVersion() error {
	v := s.raw.Lookup(sphereVersion)
	if v.IsMissing() || index.KindOf(s.key) != index.Sphere {
		return nil
	}
	if n, ok := v.AsExactInt64(); (!ok || n >= 1 && n <= 3) && !isInfinite(v) {
		return nil
	}
	return cannotCreate("unsupported geo index version { 2dsphereIndexVersion : %s }, only versions: [1,2,3] are supported", bsonx.FormatShell(v))
}

// isInfinite reports whether a number is infinite or NaN.
func isInfinite(v bsonx.Value) bool {
	f, ok := v.AsFloat64()
	return ok && (math.IsInf(f, 0) || math.IsNaN(f))
}
