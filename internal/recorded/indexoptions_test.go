package recorded

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/command/ddl"
)

// option has the values for an option. right are the values that some kind of index or collection
// accepts; the first one is used in pairs of options. wrong are the other values.
type option struct{ right, wrong string }

// flagLike has the values for an option that is a boolean or a number.
var flagLike = option{`[true,false,1,0,{"$numberLong":"1"},0.5,{"$numberDecimal":"1"}]`, `["x",null,{},[],{"$date":0},{"$undefined":true},{"$numberDouble":"NaN"}]`}

// indexOptions has the values for each option of an index.
var indexOptions = map[string]option{
	"v":                  {`[2,1,{"$numberLong":"2"},2.0,{"$numberDecimal":"2"}]`, `["2",true,null,0,-1,3,2.5,{"$numberDouble":"NaN"},{"$numberLong":"4294967298"}]`},
	"ns":                 {`["recorded.a"]`, `["","x",1,null,{}]`},
	"unique":             flagLike,
	"sparse":             flagLike,
	"background":         flagLike,
	"prepareUnique":      flagLike,
	"clustered":          flagLike,
	"hidden":             {`[true,false]`, `[1,0,"x",null,{},[]]`},
	"dropDups":           {`[true,false,1,"x",null,{}]`, `[]`},
	"expireAfterSeconds": {`[5,0,{"$numberLong":"7"},1.5,{"$numberDecimal":"3"},2147483647]`, `[-1,2147483648,"5",null,true,{},{"$numberDouble":"NaN"},{"$numberDouble":"Infinity"},{"$numberLong":"9223372036854775807"}]`},
	"partialFilterExpression": {
		`[{"a":{"$gt":1}},{},{"a":1},{"$or":[{"a":1},{"b":{"$exists":true}}]},{"a":{"$in":[1,2]}},{"a":{"$type":"string"}},{"a":{"$geoWithin":{"$box":[[0,0],[1,1]]}}}]`,
		`[1,null,[],{"a":{"$ne":1}},{"a":{"$exists":false}},{"a":{"$regex":"x"}},{"$nor":[{"a":1}]},{"a":{"$not":{"$gt":1}}},{"$expr":{"$eq":["$a",1]}},{"$where":"1"},{"$text":{"$search":"x"}},{"a":{"$near":[0,0]}},{"$foo":1},{"a":{"$in":[{"$regularExpression":{"pattern":"x","options":""}}]}}]`,
	},
	"collation": {`[{"locale":"en","strength":2},{"locale":"fr","backwards":true}]`, `[{},"en",null,1,[],{"locale":"xx"},{"strength":2},{"locale":"en","strength":9},{"locale":"en","foo":1},{"locale":1}]`},
	"storageEngine": {
		`[{"wiredTiger":{}},{},{"wiredTiger":{"configString":""}}]`,
		`[{"foo":{}},{"wiredTiger":1},1,"x",null,[]]`,
	},
	"weights":           {`[{"a":3},{},{"b":2},{"a":1,"b":99999},"$**"]`, `[{"a":0},{"a":-1},{"a":100000},{"a":"x"},{"":1},{"$a":1},{"$**":1},1,null,[],"x"]`},
	"default_language":  {`["german","none","english"]`, `["","xx",1,null,{}]`},
	"language_override": {`["lang","a.b"]`, `["","$x",1,null,{}]`},
	"textIndexVersion":  {`[3,3.0,{"$numberLong":"3"}]`, `[0,4,"3",null,true]`},
	"2dsphereIndexVersion": {
		`[3,2,1,{"$numberLong":"3"},2.0]`, `[0,"3",null,2.5,true,{"$numberDouble":"NaN"},{"$numberDecimal":"3"}]`,
	},
	"bits":                 {`[20,1,32,26.0,{"$numberLong":"10"},2.5]`, `[0,33,-1,"x",null,true,{"$numberDouble":"NaN"}]`},
	"min":                  {`[-10,-500.5,{"$numberLong":"-20"}]`, `[180,500,"x",null,true,{"$numberDouble":"NaN"},{"$numberDouble":"-Infinity"}]`},
	"max":                  {`[10,500.5,{"$numberLong":"20"}]`, `[-180,-500,"x",null,true,{"$numberDouble":"NaN"},{"$numberDouble":"Infinity"}]`},
	"coarsestIndexedLevel": {`[5,0,{"$numberLong":"6"},7.0]`, `[-1,31,"x",null,2.5,24]`},
	"finestIndexedLevel":   {`[20,30,{"$numberLong":"23"},22.0]`, `[-1,31,"x",null,2.5]`},
	"wildcardProjection":   {`[{"a":1},{"a":0},{"a.b":true},{"_id":1,"a":1},{"a":1,"_id":0},{"b":0}]`, `[{},1,null,[],{"a":"x"},{"a":{"$slice":1}},{"a":1,"b":0},{"a.$":1},{"a":{"$literal":1}},{"":1},{"_id":0}]`},
	"originalSpec":         {`[{"a":1},{}]`, `[1,"x",null,[]]`},
	"bucketSize":           {`[1,2.5]`, `["x",null,true]`},
	"key":                  {`[]`, `[{},1,null,"a",[],{"a":0},{"a":"x"},{"a":{}},{"a":null},{"a":true},{"":1},{"a.":1},{".a":1},{"a..b":1},{"$a":1},{"a.$b":1},{"a":{"$numberDouble":"NaN"}},{"a":1,"b":"hashed","c":"hashed"},{"a":"hashed","$**":1},{"$**":1,"x.$**":1},{"$**":"hashed"},{"$**":"2d"},{"a":"geoHaystack"},{"a":"columnstore"}]`},
	"name":                 {`[]`, `["x","",1,null,{},"*","_id_","a\u0000b"]`},
	"unknown":              {`[]`, `[1,null,{}]`},
}

// indexKinds are the key patterns to which the options are added.
var indexKinds = []string{
	`{"a":1}`, `{"a":-1,"b":1}`, `{"a":"text"}`, `{"a":"2dsphere"}`, `{"a":"2d"}`,
	`{"a":"hashed"}`, `{"$**":1}`, `{"_id":1}`,
	`{"b":1,"a":"text"}`, `{"b":1,"a":"2dsphere"}`, `{"a":"2d","b":1}`, `{"a":"hashed","b":1}`, `{"b":1,"a.$**":1}`,
	`{"$**":"text"}`, `{"_id":-1}`, `{"_id":"hashed"}`,
}

// pairKinds is the number of index kinds, from the beginning of indexKinds, for which the test also
// creates indexes with two options.
const pairKinds = 7

// TestIndexOptions creates indexes of each kind with each option, valid and invalid, and with each
// two options together. The answer is the entry in listIndexes, or the error. An option of the
// command must have values here.
func TestIndexOptions(t *testing.T) {
	t.Parallel()
	names := ddl.IndexOptions()
	checkOptions(t, names, indexOptions)
	c := class{
		file: "indexoptions.txt", grouped: true,
		setup: func(t *testing.T, db *mongo.Database) { must(t, db, d("create", "a")) },
	}
	for i, kind := range indexKinds {
		fields := names
		if i > 0 {
			fields = slices.DeleteFunc(slices.Clone(names),
				func(name string) bool { return name == "key" || name == "name" })
		}
		base := d("key", bsonxtest.MustParseD(kind), "name", "i")
		for _, spec := range optionSets(base, fields, indexOptions, i < pairKinds) {
			name := strings.TrimPrefix(strings.ReplaceAll(inJSON(spec), `,"name":"i"`, ""), `{"key":`+kind)
			c.cases = append(c.cases,
				question{
					name: kind + " " + name,
					ask:  func(ctx context.Context, db *mongo.Database) string { return indexOf(ctx, db, spec) },
				})
		}
	}
	c.agrees = sameIndex
	check(t, c)
}

// newer converts listings and error texts of the recorded server to MongoDB 8.0, which is older.
var newer = strings.NewReplacer(
	` collation:{"locale":"simple"}`, "", // on the recorded server every index has a collation
	"2dsphereIndexVersion:4", "2dsphereIndexVersion:3", // 8.0 has three versions
	" bucketSize:1", " bucketSize", " max:10", " max", " min:-10", " min", // numbers have another type in 8.0
)

// ofKind matches the options that only some kinds of index have. The recorded server does not list
// them for other kinds, but 8.0 does.
var ofKind = regexp.MustCompile(` (2dsphereIndexVersion|textIndexVersion|bits|min|max|coarsestIndexedLevel|finestIndexedLevel|bucketSize)(:\S+)?`)

// otherTexts match error texts that may differ if the error code is the same.
var otherTexts = []*regexp.Regexp{
	// The recorded text has the specification before the reason, and 8.0 has it after the reason.
	regexp.MustCompile(`TTL index 'expireAfterSeconds'`),
	regexp.MustCompile(`geo index version`),                         // the recorded text has other versions and other words
	regexp.MustCompile(`require sorting geospatial data`),           // the recorded text ends with a link to MongoDB's manual
	regexp.MustCompile(`Expression not supported in partial index`), // predicates look different
}

// sameIndex reports whether two answers agree, except for differences between versions.
func sameIndex(got, want string) bool {
	want = newer.Replace(want)
	if got == want {
		return true
	}
	if strings.HasPrefix(got, "ok") && strings.HasPrefix(want, "ok") {
		return ofKind.ReplaceAllString(got, "") == ofKind.ReplaceAllString(want, "")
	}
	for _, text := range otherTexts {
		if text.MatchString(got) && text.MatchString(want) && codeOf(got) == codeOf(want) {
			return true
		}
	}
	return false
}

// codeOf returns the first two words of an answer, such as "error 67".
func codeOf(answer string) string { return strings.Join(strings.SplitN(answer, " ", 3)[:2], " ") }

// indexOf creates an index from a specification, and returns its entry in listIndexes, or the
// error. It drops the index.
func indexOf(ctx context.Context, db *mongo.Database, spec bson.D) string {
	err := db.RunCommand(ctx, d("createIndexes", "a", "indexes", bson.A{spec})).Err()
	if err != nil {
		return refusal(err)
	}
	out := indexListed(ctx, db, spec)
	if _, failed := run(ctx, db, d("dropIndexes", "a", "index", "*")); failed != "" {
		return failed
	}
	return out
}

// indexListed returns the entry in listIndexes of the only index besides the index on _id.
func indexListed(ctx context.Context, db *mongo.Database, spec bson.D) string {
	reply, failed := run(ctx, db, d("listIndexes", "a"))
	if failed != "" {
		return failed
	}
	listed, err := reply.Lookup("cursor", "firstBatch").Array().Values()
	if err != nil {
		return err.Error()
	}
	if len(listed) == 1 {
		return "no other index"
	}
	return differences(spec, listed[1])
}

// differences returns an entry of listIndexes as text. Options with the requested value are shown
// only by name.
func differences(spec bson.D, listed bson.RawValue) string {
	asked, err := bson.Marshal(append(d("v", 2), spec...))
	if err != nil {
		return err.Error()
	}
	elements, err := listed.Document().Elements()
	if err != nil {
		return err.Error()
	}
	out := "ok"
	for _, e := range elements {
		if as, err := bson.Raw(asked).LookupErr(e.Key()); err != nil || !as.Equal(e.Value()) {
			out += " " + e.Key() + ":" + rendered(e.Value())
			continue
		}
		if !slices.Contains([]string{"v", "key", "name"}, e.Key()) {
			out += " " + e.Key()
		}
	}
	return out
}

// specification matches the part of an error that repeats the request.
var specification = regexp.MustCompile(`(Specification:|for 'key') \{.*$`)

// preambles are MongoDB's prefixes that say where an error was found, with short names.
var preambles = []struct {
	name    string
	pattern *regexp.Regexp
}{
	{"in the completed specification: ", regexp.MustCompile(`^Error in specification \{.*?, v: 2(, collation: \{.*?\})? \} :: caused by :: `)},
	{"in the specification: ", regexp.MustCompile(`^Error in specification .*? :: caused by :: `)},
	{"in the build: ", regexp.MustCompile(`^Index build failed: .*? \) :: caused by :: (index build on empty collection failed: [-0-9a-f]{36} :: caused by :: )?`)},
}

// refusal returns the code and the text of an error, without the parts that repeat the request. It
// returns "" if err is nil.
func refusal(err error) string {
	if err == nil {
		return ""
	}
	var refused mongo.CommandError
	if !errors.As(err, &refused) {
		return err.Error()
	}
	text := specification.ReplaceAllString(refused.Message, "")
	for _, p := range preambles {
		if at := p.pattern.FindString(text); at != "" {
			text = p.name + text[len(at):]
			break
		}
	}
	return fmt.Sprintf("error %d %s", refused.Code, strings.NewReplacer("\x00", "NUL", "\n", " ").Replace(text))
}

// valuesOf parses a list of values in Extended JSON.
func valuesOf(list string) bson.A {
	return bsonxtest.MustParseD(`{"v":` + list + `}`)[0].Value.(bson.A)
}

func inJSON(doc bson.D) string {
	text, err := bson.MarshalExtJSON(doc, true, false)
	if err != nil {
		panic(err)
	}
	return plainInt.ReplaceAllString(string(text), "$1")
}

var plainInt = regexp.MustCompile(`\{"\$numberInt":"(-?[0-9]+)"\}`)
