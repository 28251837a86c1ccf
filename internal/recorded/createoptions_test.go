package recorded

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/commands"
)

// flagOption has the values for an option that is a boolean or a number. null counts as absent.
var flagOption = option{`[true,false,1,0.0]`, `["x",null]`}

// engineOption has the values for an option that configures storage engines.
var engineOption = option{
	`[{"wiredTiger":{}},{},{"wiredTiger":{"configString":""}}]`,
	`[{"foo":{}},{"wiredTiger":1},1]`,
}

// createOptions has the values for each option of create, and for each field of an option.
var createOptions = map[string]option{
	"capped":      flagOption,
	"autoIndexId": flagOption,
	"idIndex": {
		`[{"key":{"_id":1},"name":"_id_"},{"key":{"_id":1},"name":"x","v":2},{"key":{"_id":1},"name":"_id_","v":1},{"key":{"_id":1.0},"name":"_id_","ns":"x"},{"key":{"_id":1},"name":"_id_","collation":{"locale":"simple"}}]`,
		`[{},{"key":{"_id":1}},{"name":"_id_"},{"key":{"a":1},"name":"_id_"},{"key":{"_id":-1},"name":"_id_"},{"key":{"_id":1},"name":"_id_","v":3},{"key":{"_id":1},"name":"_id_","unique":true},{"key":{"_id":1},"name":"_id_","foo":1},{"key":{"_id":1},"name":"_id_","collation":{"locale":"fr"}},1,null]`,
	},
	"size":          {`[4096,1,256,4097,1.5,{"$numberLong":"8192"},{"$numberDecimal":"5000"},{"$numberLong":"1125899906842624"}]`, `[0,-1,{"$numberLong":"1125899906842625"},{"$numberDouble":"NaN"},{"$numberDouble":"Infinity"},"x",null]`},
	"max":           {`[10,0,-1,1.5,{"$numberLong":"7"},2147483647]`, `[{"$numberLong":"2147483648"},{"$numberDouble":"NaN"},{"$numberDouble":"Infinity"},"x",null]`},
	"storageEngine": engineOption,
	"validator": {
		`[{"a":1},{},{"$jsonSchema":{"bsonType":"object"}},{"$expr":{"$eq":["$a",1]}},{"a":{"$in":[1,{"$regularExpression":{"pattern":"x","options":""}}]}}]`,
		`[{"$foo":1},{"a":{"$foo":1}},{"$text":{"$search":"x"}},{"a":{"$near":[0,0]}},{"$where":"1"},{"$expr":{"$foo":1}},{"$jsonSchema":{"bsonType":1}},{"$expr":{"$eq":["$$x",1]}},1,[],null]`,
	},
	"validationLevel":                   {`["moderate","strict","off"]`, `["","x",1,null]`},
	"validationAction":                  {`["warn","error"]`, `["","x","errorAndLog",1,null]`},
	"indexOptionDefaults":               {`[{"storageEngine":{"wiredTiger":{}}},{}]`, `[{"x":1},1,null]`},
	"indexOptionDefaults.storageEngine": engineOption,
	"viewOn":                            {`["b","missing"]`, `["","c","$a","a.$b",".a","a\u0000b","system.views","system.x",1,null]`},
	"pipeline": {
		`[[],[{"$match":{"a":1}}],[{"$lookup":{"from":"b","pipeline":[],"as":"x"}}]]`,
		`[{},1,null,[1],[{}],[{"$foo":1}],[{"$match":{"$foo":1}}],[{"$out":"x"}],[{"$merge":"x"}],[{"$changeStream":{}}],[{"$indexStats":{}}],[{"$collStats":{"count":{}}}],[{"$lookup":{"from":"c","pipeline":[],"as":"x"}}],[{"$match":{},"$skip":1}]]`,
	},
	"collation":                            {`[{"locale":"en"},{"locale":"simple"},{"locale":"en","strength":2}]`, `[{},{"strength":2},{"locale":"xx"},{"locale":"en","strength":9},{"locale":"en","foo":1},{"locale":1},"en",null]`},
	"recordPreImages":                      flagOption,
	"changeStreamPreAndPostImages":         {`[{"enabled":true}]`, `[{},{"x":1},{"enabled":true,"x":1},1,null]`},
	"changeStreamPreAndPostImages.enabled": {`[true,false]`, `[1,"x",null]`},
	"timeseries":                           {`[{"timeField":"t"},{"timeField":"t","metaField":"m","granularity":"hours"}]`, `[{},{"metaField":"m"},{"timeField":"t","x":1},{"timeField":"t","granularity":"hours","bucketMaxSpanSeconds":5},{"timeField":"t","bucketMaxSpanSeconds":100,"bucketRoundingSeconds":100},{"timeField":"t","bucketMaxSpanSeconds":100,"bucketRoundingSeconds":50},1,null]`},
	"timeseries.timeField":                 {`["t","x"]`, `["","$t","a.b","_id","a\u0000b",1,null]`},
	"timeseries.metaField":                 {`["m",""]`, `["t","_id","$m","a.b","a\u0000b",1,null]`},
	"timeseries.granularity":               {`["minutes","seconds","hours"]`, `["","x",1,null]`},
	"timeseries.bucketMaxSpanSeconds":      {`[3600,1,1.5,31536000]`, `[0,-1,31536001,{"$numberDouble":"NaN"},"x",null]`},
	"timeseries.bucketRoundingSeconds":     {`[3600,1,1.5,31536000]`, `[0,-1,31536001,{"$numberDouble":"NaN"},"x",null]`},
	"clusteredIndex":                       {`[{"key":{"_id":1},"unique":true},{"key":{"_id":1},"unique":true,"name":"x","v":2},false]`, `[true,{},{"key":{"_id":1}},{"unique":true},{"key":{"_id":1},"unique":true,"x":1},1,null]`},
	"clusteredIndex.v":                     {`[2,2.0]`, `[1,3,0,"x",null]`},
	"clusteredIndex.key":                   {`[{"_id":1},{"_id":1.0}]`, `[{},{"_id":-1},{"a":1},{"_id":1,"a":1},{"_id":"hashed"},1,null]`},
	"clusteredIndex.name":                  {`["x","_id_",""]`, `["*","$x","a\u0000b",1,null]`},
	"clusteredIndex.unique":                flagOption,
	"expireAfterSeconds":                   {`[5,0,1.5,{"$numberLong":"100000"},{"$numberDecimal":"7"}]`, `[-1,{"$numberLong":"9000000000"},{"$numberDouble":"NaN"},{"$numberDouble":"Infinity"},"off","x",null]`},
	"encryptedFields":                      {`[{"fields":[]}]`, `[{},{"x":1},1,null]`},
	"temp":                                 flagOption,
	"flags":                                {`[1,0,2,3,1.5]`, `[-1,4,"x",null]`},
	"unknown":                              {`[]`, `[1,null,{}]`},
}

// createBases are the kinds of collections to which the options are added.
var createBases = []struct{ name, options string }{
	{"plain", `{}`},
	{"capped", `{"capped":true,"size":4096}`},
	{"view", `{"viewOn":"b","pipeline":[]}`},
	{"series", `{"timeseries":{"timeField":"t"}}`},
	{"clustered", `{"clusteredIndex":{"key":{"_id":1},"unique":true}}`},
}

// fieldsOf returns the paths of a command's fields, including nested fields.
func fieldsOf(t *testing.T, name string) []string {
	t.Helper()
	var out []string
	var walk func(prefix string, fields []command.Field)
	walk = func(prefix string, fields []command.Field) {
		for _, f := range fields {
			out = append(out, prefix+f.Name)
			walk(prefix+f.Name+".", f.Fields)
		}
	}
	for _, def := range commands.Definitions() {
		if def.Name == name {
			walk("", def.Fields)
		}
	}
	slices.Sort(out)
	return out
}

// checkOptions fails if a field of a command has no values, or if there are values for a field that
// the command does not have.
func checkOptions(t *testing.T, fields []string, values map[string]option) {
	t.Helper()
	for _, name := range fields {
		if _, ok := values[name]; !ok {
			t.Fatalf("the option %s has no values", name)
		}
	}
	for name := range values {
		if name != "unknown" && !slices.Contains(fields, name) {
			t.Fatalf("the command has no option %s", name)
		}
	}
}

// optionSets adds every option with each of its values to the base. With pairs it also adds every
// two options with their first values. A name such as "timeseries.granularity" is a field of an
// option. It is added to the option's document in the base or, if the base does not have the
// option, to the option's first valid value.
func optionSets(base bson.D, fields []string, values map[string]option, pairs bool) []bson.D {
	out := []bson.D{base}
	fields = append(slices.Clone(fields), "unknown")
	for i, name := range fields {
		one := values[name]
		for _, v := range slices.Concat(valuesOf(one.right), valuesOf(one.wrong)) {
			out = append(out, withOption(base, name, v, values))
		}
		for _, other := range fields[i+1:] {
			right, beside := valuesOf(one.right), valuesOf(values[other].right)
			if len(right) > 0 && len(beside) > 0 && pairs && !strings.Contains(name+other, ".") {
				out = append(out, withOption(withOption(base, name, right[0], values), other, beside[0], values))
			}
		}
	}
	return out
}

// withOption returns the options with one more option. An existing option of that name is replaced.
func withOption(options bson.D, name string, v any, values map[string]option) bson.D {
	out := slices.Clone(options)
	name, field, nested := strings.Cut(name, ".")
	i := slices.IndexFunc(out, func(e bson.E) bool { return e.Key == name })
	if i < 0 {
		i, out = len(out), append(out, bson.E{Key: name})
		if nested {
			out[i].Value = valuesOf(values[name].right)[0]
		}
	}
	if nested {
		v = withOption(out[i].Value.(bson.D), field, v, nil)
	}
	out[i].Value = v
	return out
}

// TestCreateOptions creates collections of each kind with each option, valid and invalid, and with
// each two options together. The answer is the entry in listCollections, or the error. An option of
// the command must have values here.
func TestCreateOptions(t *testing.T) {
	t.Parallel()
	fields := fieldsOf(t, "create")
	checkOptions(t, fields, createOptions)
	c := class{
		file: "createoptions.txt", grouped: true,
		setup: func(t *testing.T, db *mongo.Database) { must(t, db, d("create", "b")) },
	}
	seen := map[string]bool{}
	for _, base := range createBases {
		for _, options := range optionSets(bsonxtest.MustParseD(base.options), fields, createOptions, true) {
			added := options[len(options):]
			for _, e := range options {
				if !slices.ContainsFunc(bsonxtest.MustParseD(base.options),
					func(b bson.E) bool { return inJSON(bson.D{b}) == inJSON(bson.D{e}) }) {
					added = append(added, e)
				}
			}
			name := base.name + " " + inJSON(added)
			if seen[name] || unanswered(options) {
				continue // the base has this option with the same value
			}
			seen[name] = true
			c.cases = append(c.cases, question{name: name, ask: func(ctx context.Context, db *mongo.Database) string {
				return collectionOf(ctx, db, options)
			}})
		}
	}
	c.agrees = sameCollection
	check(t, c)
}

// newerCollections converts listings of the recorded server, which is newer than MongoDB 8.0.
var newerCollections = strings.NewReplacer(
	`,"fixedBucketing":boolean "\x01"`, "", // 8.0 does not have this field
)

// newerRefusals match errors of the recorded server that MongoDB 8.0 does not return. Sheaf refuses
// encrypted collections with error 238.
var newerRefusals = regexp.MustCompile(`create\.(autoIndexId|recordPreImages)' is an unknown field|encrypted|Encrypted`)

// otherCollections match accepted differences: Sheaf's answer, a tab, and the recorded answer.
var otherCollections = []*regexp.Regexp{
	regexp.MustCompile(`Enumeration value 'errorAndLog'.*\t(ok|error 72)`), // an action of 8.1
	regexp.MustCompile(`^ok view.*\terror 40573`),                          // the recorded server is not a replica set
	regexp.MustCompile(`\t.*clusteredIndex' is the wrong type 'null'`),     // null counts as absent in 8.0
	// The recorded server accepts a number for a boolean.
	regexp.MustCompile(`clusteredIndex' is the wrong type 'int'.*\terror`),
	regexp.MustCompile(`error 6026500.*\terror 73`),                   // another one of two errors is reported
	regexp.MustCompile(`'timeseries' is not allowed with 'temp'\tok`), // in Sheaf a time series cannot be temporary
	regexp.MustCompile(`cannot be the same as.*\tok.*"timeField":""`), // in Sheaf an empty name counts as absent
	regexp.MustCompile(`^ok timeseries.*\tok.*"metaField":""`),        // in Sheaf an empty name counts as absent
	regexp.MustCompile(`^ok.*"name":"_id_".*\tok.*"name":""`),         // in Sheaf an empty name counts as absent
}

// otherRefusals matches two refusals with the same code, separated by a tab, whose texts may
// differ.
var otherRefusals = []*regexp.Regexp{
	regexp.MustCompile(`\t.*'timeseries' is not allowed with`),                           // the error names the other option
	regexp.MustCompile(`('timeseries'|'idIndex') is not allowed with.*\t`),               // the error names the other option
	regexp.MustCompile(`^error 72 TTL index .* acceptable range.*\t.*(exceed|overflow)`), // the recorded text has the number
	regexp.MustCompile(`View cycle detected`),                                            // the recorded text names all views of the cycle
	regexp.MustCompile(`^error 5979704 `),                                                // the recorded text has all fields of the clustered index
	regexp.MustCompile(`storageEngine.wiredTiger' (has to|must) be`),
}

// moreWords matches prefixes that the recorded server adds to the texts of 8.0.
var moreWords = regexp.MustCompile(`Failed to create timeseries collection :: caused by :: |recorded\.c: ('...+Field' must be)`)

// typeList matches the list of types in an error text. The order of the types has no meaning.
var typeList = regexp.MustCompile(`expected types '\[.*\]'`)

// sameCollection reports whether two answers agree, except for differences between versions.
func sameCollection(got, want string) bool {
	want = newerCollections.Replace(want)
	if got == want || newerRefusals.MatchString(want) ||
		strings.HasPrefix(got, "error 238 the option 'encryptedFields'") {
		return true
	}
	both := got + "\t" + want
	if slices.ContainsFunc(otherCollections, func(r *regexp.Regexp) bool { return r.MatchString(both) }) {
		return true
	}
	if !strings.HasPrefix(got, "error") || !strings.HasPrefix(want, "error") || codeOf(got) != codeOf(want) {
		return false
	}
	plain := func(text string) string { return typeList.ReplaceAllStringFunc(text, sortedWords) }
	return plain(got) == plain(moreWords.ReplaceAllString(want, "$1")) ||
		slices.ContainsFunc(otherRefusals, func(r *regexp.Regexp) bool { return r.MatchString(both) })
}

// sortedWords sorts the words of a list.
func sortedWords(list string) string {
	words := strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(" ,[]'", r) })
	slices.Sort(words)
	return strings.Join(words, " ")
}

// unanswered reports whether the recorded server crashes with these options: time series with a
// collation.
func unanswered(options bson.D) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(options, func(e bson.E) bool { return e.Key == name })
	}
	return has("timeseries") && has("collation")
}

// collectionOf creates a collection with options, and returns its entry in listCollections, or the
// error. Options with the requested value are shown only by name.
func collectionOf(ctx context.Context, db *mongo.Database, options bson.D) string {
	if err := db.RunCommand(ctx, append(d("create", "c"), options...)).Err(); err != nil {
		return refusal(err)
	}
	defer db.RunCommand(ctx, d("drop", "c"))
	return listedOf(ctx, db, options)
}

// listedOf returns the entry of the collection c in listCollections. An option with the same value
// as in options is shown only by name.
func listedOf(ctx context.Context, db *mongo.Database, options bson.D) string {
	reply, failed := run(ctx, db, d("listCollections", 1, "filter", d("name", "c")))
	if failed != "" {
		return failed
	}
	listed, ok := reply.Lookup("cursor", "firstBatch", "0").DocumentOK()
	if !ok {
		return "not listed"
	}
	asked, err := bson.Marshal(options)
	if err != nil {
		return err.Error()
	}
	out := "ok " + listed.Lookup("type").StringValue()
	shown, err := listed.Lookup("options").Document().Elements()
	if err != nil {
		return err.Error()
	}
	slices.SortFunc(shown, func(a, b bson.RawElement) int { return strings.Compare(a.Key(), b.Key()) })
	for _, e := range shown {
		out += " " + e.Key()
		if as, err := bson.Raw(asked).LookupErr(e.Key()); err != nil || !as.Equal(e.Value()) {
			out += ":" + rendered(e.Value())
		}
	}
	if id, ok := listed.Lookup("idIndex").DocumentOK(); ok {
		out += " idIndex:" + rendered(bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: id})
	}
	return strings.TrimSuffix(out, ` idIndex:{"v":2,"key":{"_id":1},"name":"_id_"}`)
}
