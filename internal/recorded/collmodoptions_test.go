package recorded

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/sheaftest"
)

// collModTwins maps collMod's options to the options of create, or of an index, that have the same
// rules.
var collModTwins = map[string]string{
	"validator":                            "validator",
	"validationLevel":                      "validationLevel",
	"validationAction":                     "validationAction",
	"viewOn":                               "viewOn",
	"pipeline":                             "pipeline",
	"recordPreImages":                      "recordPreImages",
	"changeStreamPreAndPostImages":         "changeStreamPreAndPostImages",
	"changeStreamPreAndPostImages.enabled": "changeStreamPreAndPostImages.enabled",
	"expireAfterSeconds":                   "expireAfterSeconds",
	"timeseries.granularity":               "timeseries.granularity",
	"timeseries.bucketMaxSpanSeconds":      "timeseries.bucketMaxSpanSeconds",
	"timeseries.bucketRoundingSeconds":     "timeseries.bucketRoundingSeconds",
	"cappedSize":                           "size",
	"cappedMax":                            "max",
	"index.expireAfterSeconds":             "expireAfterSeconds",
	"index.hidden":                         "hidden",
	"index.prepareUnique":                  "prepareUnique",
	"index.unique":                         "unique",
}

// collModOptions are the values for the options without a twin. The wrong values are never
// accepted.
var collModOptions = map[string]option{
	"timeseries":           {`[{"granularity":"minutes"}]`, `[{"timeField":"t"},{"metaField":"m"},{"x":1},{"granularity":"seconds","bucketMaxSpanSeconds":5},{"bucketMaxSpanSeconds":7200},{"granularity":"minutes","granularity":"minutes"},1,"x",[]]`},
	"index":                {`[{"name":"i","hidden":true},{"keyPattern":{"a":1},"hidden":true}]`, `[{},{"name":"i"},{"hidden":true},{"name":"i","x":1},{"name":"i","keyPattern":{"a":1},"hidden":true},{"name":"i","hidden":true,"hidden":true},1,"i",[]]`},
	"index.name":           {`["i"]`, `["","x","_id_","*",1,{}]`},
	"index.keyPattern":     {`[]`, `[{},{"a":1},{"b":1},{"_id":1},1,"a",[]]`},
	"index.forceNonUnique": {`[true,1,false]`, `["x",{},[]]`},
	"dryRun":               {`[true,1,false]`, `["x",{},[]]`},
	"timeseriesBucketsMayHaveMixedSchemaData": {`[true,1,false]`, `["x",{},[]]`},
	"collectionUUID": {`[]`, `["x",1,{},{"$binary":{"base64":"","subType":"00"}},{"$uuid":"00000000-0000-4000-8000-000000000000"}]`},
	"unknown":        {`[]`, `[1,{}]`},
}

// collModDiffers matches accepted differences: an option, collMod's answer and its twin's answer,
// separated by tabs.
var collModDiffers = []*regexp.Regexp{
	regexp.MustCompile(`^cappedSize\tok.*\t.*the 'size' field is required`),                         // collMod keeps the existing size
	regexp.MustCompile(`^expireAfterSeconds\tok.*\t.*expireAfterSeconds' is the wrong type 'str`),   // "off" ends the expiry
	regexp.MustCompile(`^expireAfterSeconds\terror 72 Invalid string.*\t.*wrong type 'string'`),     // collMod accepts no other string
	regexp.MustCompile(`^(viewOn|pipeline)\terror 72 Must specify both`),                            // collMod of a view needs both options
	regexp.MustCompile(`^recordPreImages\tok`),                                                      // an option of old versions, without effect
	regexp.MustCompile(`^timeseries\S+\t.*Invalid transition`),                                      // transitions that create does not have
	regexp.MustCompile(`^index\.expireAfterSeconds\terror (14|72) .*\terror 67 .*`),                 // collMod has other codes
	regexp.MustCompile(`^index\.hidden\tok.*\terror 14 .*'hidden' must be a bool, but got int`),     // collMod accepts numbers for hidden
	regexp.MustCompile(`^index\.\w*[uU]nique\terror 67 .* is of a type that cannot be unique`),      // hashed and wildcard indexes
	regexp.MustCompile(`^index\.unique\terror 72 Cannot make index unique with 'prepareUnique=f`),   // prepareUnique must be set before unique
	regexp.MustCompile(`^index\.unique\terror 2 collMod does not support converting .* 'unique: f`), // only forceNonUnique does this
	regexp.MustCompile(`^index\.\S+\terror 72 no expireAfterSeconds, hidden`),                       // null counts as absent
	regexp.MustCompile(`^index\.expireAfterSeconds\terror 72 TTL indexes are single.*\tok.*_fts`),   // text is stored under two fields
}

// TestCollModOptions changes each kind of collection and index by each option with each value. An
// option that the kind may have must be accepted and refused like its twin, with the same effect.
// Any other option must be refused. An option without values fails.
func TestCollModOptions(t *testing.T) {
	t.Parallel()
	values := maps.Clone(collModOptions)
	for name, twin := range collModTwins {
		if strings.HasPrefix(name, "index.") {
			values[name] = indexOptions[twin]
		} else {
			values[name] = createOptions[twin]
		}
	}
	fields := fieldsOf(t, "collMod")
	checkOptions(t, fields, values)
	db := sheaftest.New(t).Database("recorded")
	must(t, db, d("create", "a"))
	must(t, db, d("create", "b"))
	for _, name := range append(fields, "unknown") {
		if strings.HasPrefix(name, "index") {
			for _, kind := range indexKinds {
				if kind == `{"_id":1}` {
					continue // it already exists
				}
				c := &collModCase{t, db, kind, d("key", bsonxtest.MustParseD(kind), "name", "i"), name, values}
				c.runIndex()
			}
			continue
		}
		for _, base := range createBases {
			c := &collModCase{t, db, base.name, bsonxtest.MustParseD(base.options), name, values}
			c.run()
		}
	}
}

// collModCase is a test of one option on one kind of collection.
type collModCase struct {
	t       *testing.T
	db      *mongo.Database
	base    string
	options bson.D
	name    string
	values  map[string]option
}

// run changes a collection by collMod with each value of the option, and judges the answers.
func (c *collModCase) run() {
	twin := collModTwins[c.name]
	var beside bson.D
	if c.base == "view" {
		beside = bsonxtest.MustParseD(`{"viewOn":"b","pipeline":[]}`)
	}
	for _, v := range c.all() {
		made := withOption(c.options, cmp.Or(twin, c.name), v, createOptions)
		want := ""
		if twin != "" && c.has(twin) {
			want = collectionOf(c.t.Context(), c.db, made)
		}
		c.judge(v, modifiedOf(c.t.Context(), c.db, c.options, withOption(beside, c.name, v, c.values), made), want)
	}
}

// runIndex changes an index by collMod with each value of the option, and judges the answers.
func (c *collModCase) runIndex() {
	twin, ctx := collModTwins[c.name], c.t.Context()
	for _, v := range c.all() {
		made, want := c.options, ""
		if twin != "" {
			made = append(slices.Clone(c.options), bson.E{twin, v})
			want = indexOf(ctx, c.db, made)
		}
		changes := withOption(d("index", d("name", "i")), c.name, v, c.values)
		if _, failed := run(ctx, c.db, d("createIndexes", "a", "indexes", bson.A{c.options})); failed != "" {
			return
		}
		got := refusal(c.db.RunCommand(ctx, append(d("collMod", "a"), changes...)).Err())
		if got == "" {
			got = indexListed(ctx, c.db, made)
		}
		must(c.t, c.db, d("dropIndexes", "a", "index", "*"))
		c.judge(v, got, want)
	}
}

func (c *collModCase) all() bson.A {
	return slices.Concat(valuesOf(c.values[c.name].right), valuesOf(c.values[c.name].wrong))
}

// judge compares collMod's answer for the value v with the answer of create or createIndexes for
// its twin. want is empty if there is no answer of a twin. Then the value must be refused, unless
// it is null or a valid value of an option without a twin.
func (c *collModCase) judge(v any, got, want string) {
	c.t.Helper()
	refused := strings.HasPrefix(got, "error") && codeOf(got) != "error 1"
	open := v == nil || collModTwins[c.name] == "" && !inList(valuesOf(c.values[c.name].wrong), v)
	switch {
	case want == "" && (refused || open && strings.HasPrefix(got, "ok")):
	case got == want:
	case refused && strings.HasPrefix(want, "error") && codeOf(got) == codeOf(want):
	case slices.ContainsFunc(collModDiffers,
		func(r *regexp.Regexp) bool { return r.MatchString(c.name + "\t" + got + "\t" + want) }):
	default:
		c.t.Errorf("%s %s:\n got %s\nwant %s", c.base, inJSON(bson.D{{c.name, v}}),
			got, cmp.Or(want, "an error"))
	}
}

// has reports whether a collection of the kind may have an option of create.
func (c *collModCase) has(twin string) bool {
	ofView := twin == "viewOn" || twin == "pipeline"
	if ofView != (c.base == "view") || c.base != "series" && strings.HasPrefix(twin, "timeseries") {
		return false
	}
	first := valuesOf(createOptions[twin].right)[0]
	return strings.HasPrefix(collectionOf(c.t.Context(), c.db, withOption(c.options, twin, first, createOptions)), "ok")
}

// inList reports whether v is one of the values of a list.
func inList(list bson.A, v any) bool {
	return slices.ContainsFunc(list, func(one any) bool {
		return inJSON(bson.D{{"v", one}}) == inJSON(bson.D{{"v", v}})
	})
}

// modifiedOf creates a collection, changes it by collMod, and returns its entry in listCollections,
// or the error. Options with the same value as in made are shown only by name.
func modifiedOf(ctx context.Context, db *mongo.Database, options, changes, made bson.D) string {
	if err := db.RunCommand(ctx, append(d("create", "c"), options...)).Err(); err != nil {
		return refusal(err)
	}
	defer db.RunCommand(ctx, d("drop", "c"))
	if err := db.RunCommand(ctx, append(d("collMod", "c"), changes...)).Err(); err != nil {
		return refusal(err)
	}
	return listedOf(ctx, db, made)
}
