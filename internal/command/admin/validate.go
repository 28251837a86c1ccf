package admin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/command/ddl"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/table"
)

// ValidateCommands returns the definitions of validate, dataSize and reIndex.
func ValidateCommands() []command.Definition {
	return []command.Definition{
		{
			Name: "validate", Loose: true, Help: "Checks that a collection and its indexes agree.",
			Lacks: "repair", Run: runValidate,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
			Fields: []command.Field{
				{Name: "full", Type: command.Any},
				{Name: "repair", Type: command.Any},
				{Name: "metadata", Type: command.Any},
				{Name: "background", Type: command.Any},
				{Name: "fixMultikey", Type: command.Any},
				{Name: "checkBSONConformance", Type: command.Any},
				{Name: "enforceFastCount", Type: command.Any},
			},
		},
		{
			Name: "dataSize", Aliases: []string{"datasize"},
			Help:         "Measures the documents of a collection or a range of _id.",
			CommandField: command.String, Run: runDataSize,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
			Fields: []command.Field{
				{Name: "keyPattern", Type: command.Object},
				{Name: "min", Type: command.Object},
				{Name: "max", Type: command.Object},
				{Name: "estimate", Type: command.SafeBool},
				{Name: "maxSize", Type: command.SafeInt},
				{Name: "maxObjects", Type: command.SafeInt},
			},
		},
		{
			Name: "reIndex", Loose: true, Help: "Builds the indexes of a collection anew.", Run: runReIndex,
			Properties: command.Properties{
				Writes: feature.Yes, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
		},
	}
}

func runValidate(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	name, err := req.LegacyCollection()
	if err != nil {
		return err
	}
	if req.Get("metadata").Truthy() {
		for _, other := range []string{"full", "background", "repair", "enforceFastCount", "checkBSONConformance"} {
			if req.Get(other).Truthy() {
				return mongoerr.New(mongoerr.InvalidOptions,
					"Running the validate command with { metadata: true } is not supported with any other options")
			}
		}
	}
	if err := checkBackground(req); err != nil {
		return err
	}
	if c := req.Service.Store.Lookup(req.DB, name); read.IsVirtual(c) {
		sz, err := req.Service.VirtualSizes(c, req.Conn.Local)
		appendValidation(reply, c,
			&table.Validation{Records: sz.Count, KeysPerIndex: map[string]int64{"_id_": sz.Count}})
		return err
	}
	c, err := command.ExistingTarget(req, req.DB, name) // an invalid name counts as a missing collection
	if err != nil {
		return err
	}
	if c == nil {
		return mongoerr.New(mongoerr.NamespaceNotFound, "Collection '%s.%s' does not exist to validate.", req.DB, name)
	}
	if req.Bool("repair") {
		return mongoerr.New(mongoerr.NotImplemented, "validate with repair is not supported; drop and create the indexes that are named in its errors")
	}
	v, err := req.Service.Store.Validate(ctx, c, req.Bool("full") || req.Bool("checkBSONConformance"))
	if errors.Is(err, table.ErrDropped) {
		return mongoerr.New(mongoerr.NamespaceNotFound, "Collection '%s' was dropped during validation.", c.Namespace())
	}
	if err != nil {
		return err
	}
	if v.Refused > 0 {
		req.Service.Logger.Warn("Documents are not compliant with the collection's schema",
			"c", "STORAGE", "id", logRefused,
			"ns", c.Namespace(), "documents", v.Refused)
	}
	if v.Repeating > 0 {
		req.Service.Logger.Warn("Documents have fields of the same name", "c", "STORAGE", "id", logRepeating,
			"ns", c.Namespace(), "documents", v.Repeating)
	}
	appendValidation(reply, c, v)
	return nil
}

// checkBackground returns an error if background is set together with options that do not allow it,
// or on a standalone server.
func checkBackground(r *command.Request) error {
	if !r.Bool("background") {
		return nil
	}
	for _, other := range [...][2]string{
		{"full", "{ full: true }"},
		{"enforceFastCount", "{ enforceFastCount: true } or { enforceFastSize: true }"},
		{"repair", "{ repair: true }"},
	} {
		if r.Bool(other[0]) {
			return mongoerr.New(mongoerr.InvalidOptions, "Running the validate command with both { background: true } and %s is not supported.", other[1])
		}
	}
	if !r.Service.Replicates() {
		return mongoerr.New(mongoerr.CommandNotSupported, "Running the validate command with { background: true } is not supported in standalone mode")
	}
	return nil
}

// The ids of mongod's log lines that the warnings of validate refer to.
const (
	logRefused   = 5363500
	logRepeating = 6825900
)

// validationWarnings returns mongod's warnings about stored documents that could not be written
// today: they violate the validator or repeat a field.
func validationWarnings(v *table.Validation) (out []string) {
	if v.Refused > 0 {
		out = append(out, fmt.Sprintf(
			"Detected one or more documents not compliant with the collection's schema. Check logs for log id %d.", logRefused))
	}
	if v.Repeating > 0 {
		out = append(out, fmt.Sprintf("Detected one or more documents in this collection not conformant to BSON specifications. "+
			"For more info, see logs with log id %d", logRepeating))
	}
	return out
}

func appendValidation(reply *bsonx.Builder, c *table.Collection, v *table.Validation) {
	valid := len(v.Errors) == 0
	reply.String("ns", c.Namespace())
	reply.Value("uuid", bsonx.Binary(4, c.UUID[:]))
	reply.Int32("nInvalidDocuments", int32(v.InvalidRecords))
	reply.Int32("nNonCompliantDocuments", int32(v.NonCompliant))
	command.AppendNumber(reply, "nrecords", v.Records)
	reply.Int32("nIndexes", int32(len(c.Indexes)+1))
	appendKeysPerIndex(reply, c, v)
	reply.Bool("valid", valid)
	reply.Bool("repaired", false)
	reply.Value("warnings", stringsOf(validationWarnings(v)))
	reply.Value("errors", stringsOf(v.Errors))
	appendFaults(reply, v)
}

// appendFaults appends the extra and the missing index entries, and the records that cannot be
// read.
func appendFaults(reply *bsonx.Builder, v *table.Validation) {
	reply.StartArrayField("extraIndexEntries")
	for _, name := range slices.Sorted(maps.Keys(v.Extra)) {
		reply.Elem(bsonx.Document(bsonx.NewDoc("indexName", name, "count", v.Extra[name])))
	}
	reply.End()
	reply.StartArrayField("missingIndexEntries")
	for _, m := range v.Missing {
		reply.Elem(bsonx.Document(bsonx.NewDoc("indexName", m.Index, "idKey", m.ID)))
	}
	reply.End()
	reply.Value("corruptRecords", stringsOf(v.Corrupt))
}

func appendKeysPerIndex(reply *bsonx.Builder, c *table.Collection, v *table.Validation) {
	names := []string{"_id_"}
	for _, ix := range c.Indexes {
		names = append(names, ix.Name)
	}
	reply.StartDocField("keysPerIndex")
	for _, name := range names {
		command.AppendNumber(reply, name, v.KeysPerIndex[name])
	}
	reply.End()
	reply.StartDocField("indexDetails")
	for _, name := range names {
		reply.Doc(name, bsonx.NewDoc("valid", !v.Broken[name]))
	}
	reply.End()
}

func stringsOf(list []string) bsonx.Value {
	values := make([]bsonx.Value, len(list))
	for i, s := range list {
		values[i] = bsonx.String(s)
	}
	return bsonx.ValueOf(values)
}

func runDataSize(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	ns := req.CommandValue()
	db, name, valid, err := catalog.ParseNamespace(ns.Str())
	if err == nil && !valid {
		err = mongoerr.New(mongoerr.InvalidNamespace, "Namespace %s is not a valid collection name", ns.Str())
	}
	if err != nil {
		return err
	}
	c := req.Service.Store.Lookup(db, name)
	lower, upper := req.Doc("min"), req.Doc("max")
	switch {
	case upper == nil && lower != nil:
		return mongoerr.New(mongoerr.BadValue, "Max must be set if min is set.")
	case upper != nil && lower == nil:
		return mongoerr.New(mongoerr.BadValue, "Max must not be set if min is not set.")
	case c != nil && read.IsView(c) && !read.IsVirtual(c):
		return mongoerr.New(mongoerr.CommandNotSupportedOnView, "Namespace %s is a view, not a collection", ns.Str())
	case c != nil && lower.IsEmpty() != upper.IsEmpty():
		return mongoerr.New(mongoerr.BadValue, "Only one of min or max specified")
	}
	var size, count int64
	reached := false
	limit := dataLimit{size: req.Int64("maxSize", 0), objects: req.Int64("maxObjects", 0)}
	switch {
	case c == nil:
	case read.IsVirtual(c):
		sz, err := req.Service.VirtualSizes(c, req.Conn.Local)
		if err != nil {
			return err
		}
		size, count = sz.Data, sz.Count
	case lower.IsEmpty() && (!limit.given() || req.Bool("estimate")):
		counter, err := req.Service.Store.Count(c)
		if err != nil {
			return err
		}
		size, count = counter.Bytes, counter.Count
	default:
		if size, count, reached, err = measureRange(ctx, req, c, lower, upper, limit); err != nil {
			return err
		}
	}
	reply.Int64("size", size)
	reply.Int64("numObjects", count)
	reply.Int64("millis", req.Service.Clock.Now().Sub(req.Now).Milliseconds())
	if c != nil {
		reply.Bool("estimate", req.Bool("estimate"))
	}
	if reached {
		reply.Bool("maxReached", true)
	}
	return nil
}

// dataLimit is the limit of bytes and documents at which dataSize stops. 0 means no limit.
type dataLimit struct{ size, objects int64 }

func (l dataLimit) given() bool { return l.size != 0 || l.objects != 0 }

// reached reports whether size bytes or count documents are over the limit.
func (l dataLimit) reached(size, count int64) bool {
	return l.size != 0 && size > l.size || l.objects != 0 && count > l.objects
}

// measureRange sums up the documents between two index keys, or all documents if lower is empty. It
// stops when the limit is reached.
func measureRange(ctx context.Context, r *command.Request, c *table.Collection, lower, upper bsonx.Doc,
	limit dataLimit,
) (size, count int64, reached bool, err error) {
	all, err := filter.Parse(bsonx.Empty, filter.Options{})
	if err != nil {
		return 0, 0, false, err
	}
	q := &query.Query{DB: c.DB, Name: c.Name, Coll: c, Filter: all}
	if !lower.IsEmpty() {
		rng := splitter{coll: c, pattern: r.Doc("keyPattern"), lower: lower, upper: upper}
		if rng.pattern.IsEmpty() {
			rng.pattern = keyNames(lower)
		}
		if empty, err := rng.bound(q); err != nil || empty {
			return 0, 0, false, err
		}
	}
	reader := exec.NewReader(r.Service.Store.Newest())
	defer reader.Close()
	run, err := r.Service.Planner.Find(ctx, q, reader)
	if err != nil {
		return 0, 0, false, err
	}
	defer run.Close()
	for {
		row, err := run.Next(ctx)
		if err != nil || row == nil {
			return size, count, false, err
		}
		size += int64(len(row.Doc))
		count++
		if limit.reached(size, count) {
			return size, count, true, nil
		}
	}
}

// keyNames returns a key pattern with the fields of a document, all ascending.
func keyNames(doc bsonx.Doc) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for it := doc.Iter(); it.Next(); {
		b.Int32(string(it.Key()), 1)
	}
	b.End()
	return b.Bytes()
}

// runReIndex rebuilds all indexes of a collection. Readers use the old indexes until all new
// indexes are complete.
func runReIndex(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	name, err := req.LegacyCollection()
	if err != nil {
		return err
	}
	if req.Service.Replicates() {
		return mongoerr.New(mongoerr.IllegalOperation,
			"reIndex is only allowed on a standalone mongod instance. Cannot reIndex '%s.%s' while replication is active", req.DB, name)
	}
	var specs []bsonx.Doc
	err = ddl.OnNewest(req, req.DB, name, func(*table.Collection) error {
		c, err := command.ExistingTarget(req, req.DB, name)
		if err == nil && c == nil {
			err = mongoerr.New(mongoerr.NamespaceNotFound, "collection does not exist")
		}
		if err != nil {
			return err
		}
		specs, err = schema.RebuildIndexes(ctx, req.Service.Store, c)
		return err
	})
	if err != nil {
		return err
	}
	reply.Int32("nIndexesWas", int32(len(specs)+1))
	reply.Int32("nIndexes", int32(len(specs)+1))
	reply.Value("indexes", bsonx.ValueOf(append([]bsonx.Doc{command.IDIndexSpec}, specs...)))
	return nil
}
