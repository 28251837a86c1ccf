package adversarial

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/torture"
)

// attack is a command, and the error codes with which it may fail.
type attack struct {
	name, cmd string
	want      []int32
}

// pipelineOver returns an aggregate over the documents that an expression makes.
func pipelineOver(documents string, stages ...string) string {
	return `{"aggregate": 1, "cursor": {}, "pipeline": [` +
		strings.Join(append([]string{`{"$documents": ` + documents + `}`}, stages...), ", ") + `]}`
}

// computed returns an aggregate that computes one expression.
func computed(expr string) string {
	return pipelineOver(`[{"s": "x"}]`, `{"$project": {"x": `+expr+`}}`)
}

// times returns stages that make the documents {"i": 0}, {"i": 1}, … for each input document: 1000
// times n, without collecting them.
func times(n int) []string {
	return []string{
		fmt.Sprintf(`{"$set": {"j": {"$range": [0, %d]}}}`, n), `{"$unwind": "$j"}`,
		`{"$set": {"i": {"$range": [0, 1000]}}}`, `{"$unwind": "$i"}`,
		`{"$set": {"i": {"$add": ["$i", {"$multiply": ["$j", 1000]}]}}}`,
	}
}

// mega returns an expression that computes a string of 2^n bytes.
func mega(n int) string {
	return fmt.Sprintf(`{"$reduce": {"input": {"$range": [0, %d]}, "initialValue": "x", "in": {"$concat": ["$$value", "$$value"]}}}`, n)
}

// withMega returns an aggregate that computes one expression, in which $$m is a string of 1 MiB.
func withMega(expr string) string {
	return computed(`{"$let": {"vars": {"m": ` + mega(20) + `}, "in": ` + expr + `}}`)
}

// nested returns inner, wrapped n times in wrap. %s in wrap stands for the wrapped expression.
func nested(wrap, inner string, n int) string {
	before, after, _ := strings.Cut(wrap, "%s")
	return strings.Repeat(before, n) + inner + strings.Repeat(after, n)
}

// The error codes for a limit of memory or size.
var tooLarge = []int32{146, 292, 10334, 17419, 4031700, 17260, 5895100}

func growth() []attack {
	doubling := func(op string, start string) string {
		return computed(`{"$reduce": {"input": {"$range": [0, 60]}, "initialValue": ` + start + `, "in": {"` + op + `": ["$$value", "$$value"]}}}`)
	}
	wide := `{"$range": [0, 100000]}`
	return []attack{
		{"range", computed(`{"$range": [0, 2147483647]}`), tooLarge},
		{"range in map", computed(`{"$map": {"input": ` + wide + `, "in": ` + wide + `}}`), tooLarge},
		{"map in map", computed(`{"$map": {"input": ` + wide + `, "in": {"$map": {"input": ` + wide +
			`, "as": "y", "in": "$$y"}}}}`), tooLarge},
		{"concatArrays", doubling("$concatArrays", "[1]"), tooLarge},
		{"concat", doubling("$concat", `"x"`), tooLarge},
		{"setUnion", withMega(`{"$reduce": {"input": {"$range": [0, 1000]}, "initialValue": [], "in": {"$setUnion": ["$$value", {"$map": {"input": {"$range": [0, 20]}, "as": "n", "in": {"$concat": ["$$m", {"$toString": "$$this"}, ".", {"$toString": "$$n"}]}}}]}}}`), tooLarge},
		{"array of arrays", doubling("$ifNull", `"x"`), []int32{0}},
		{"literal arrays", computed(`{"$reduce": {"input": {"$range": [0, 60]}, "initialValue": "x", "in": ["$$value", "$$value"]}}`), append([]int32{15}, tooLarge...)},
		{"literal objects", computed(`{"$reduce": {"input": {"$range": [0, 60]}, "initialValue": "x", "in": {"a": "$$value", "b": "$$value"}}}`), append([]int32{15}, tooLarge...)},
		{"deep objects", computed(`{"$reduce": {"input": {"$range": [0, 100000]}, "initialValue": "x", "in": {"a": "$$value"}}}`), append([]int32{15}, tooLarge...)},
		{"deep arrays", computed(`{"$reduce": {"input": {"$range": [0, 100000]}, "initialValue": "x", "in": ["$$value"]}}`), append([]int32{15}, tooLarge...)},
		{"deep setField", computed(`{"$reduce": {"input": {"$range": [0, 100000]}, "initialValue": {}, "in": {"$setField": {"field": "a", "input": {}, "value": "$$value"}}}}`), append([]int32{15}, tooLarge...)},
		{"let", computed(nested(`{"$let": {"vars": {"v": %s}, "in": {"$concat": ["$$v", "$$v"]}}}`, `"$s"`, 40)), tooLarge},
		{"replaceAll", withMega(`{"$replaceAll": {"input": "$$m", "find": "x", "replacement": "$$m"}}`), tooLarge},
		{"split", withMega(`{"$map": {"input": {"$range": [0, 1000]}, "in": {"$split": ["$$m", "x"]}}}`), tooLarge},
		{"join by reduce", withMega(`{"$reduce": {"input": {"$range": [0, 100000]}, "initialValue": "", "in": {"$concat": ["$$value", "$$m"]}}}`), tooLarge},
		{"zip", computed(`{"$zip": {"inputs": [` +
			strings.TrimSuffix(strings.Repeat(wide+",", 40), ",") + `]}}`), tooLarge},
		{"mergeObjects", computed(`{"$let": {"vars": {"m": ` + mega(23) + `}, "in": {"$reduce": {"input": {"$range": [0, 1000]}, "initialValue": {}, "in": {"$mergeObjects": ["$$value", {"$arrayToObject": [[[{"$toString": "$$this"}, "$$m"]]]}]}}}}}`), tooLarge},
		{"object of mega fields", withMega(`{"a": "$$m"}`), []int32{0}},
		{"many mega fields", pipelineOver(`[{}]`, `{"$set": {"m": `+mega(20)+`}}`, `{"$project": {"r": {"$map": {"input": {"$range": [0, 1000]}, "in": "$m"}}}}`), tooLarge},
		{"result of 17 MiB", pipelineOver(`[{}]`, `{"$set": {"m": `+mega(20)+`}}`, `{"$project": {"r": {"$map": {"input": {"$range": [0, 17]}, "in": "$m"}}}}`), tooLarge},
	}
}

// floods returns attacks on stages with more input than fits into their memory.
func floods() []attack {
	stages := func(more ...string) string { return pipelineOver(`[{}]`, append(times(2000), more...)...) }
	return []attack{
		{"push", stages(`{"$group": {"_id": 1, "r": {"$push": "$$ROOT"}}}`), tooLarge},
		{"addToSet", stages(`{"$group": {"_id": 1, "r": {"$addToSet": "$i"}}}`), tooLarge},
		{"topN", stages(`{"$group": {"_id": 1, "r": {"$topN": {"n": 2000000, "sortBy": {"i": 1}, "output": "$$ROOT"}}}}`), tooLarge},
		{
			"group without the disk",
			strings.Replace(stages(`{"$group": {"_id": "$i"}}`), `"cursor"`,
				`"allowDiskUse": false, "cursor"`, 1),
			[]int32{292},
		},
		{
			"sort without the disk",
			strings.Replace(stages(`{"$sort": {"i": -1}}`), `"cursor"`,
				`"allowDiskUse": false, "cursor"`, 1),
			[]int32{292},
		},
		{"facet", stages(`{"$facet": {"a": [{"$match": {}}]}}`), tooLarge},
		{
			"facet of facets", pipelineOver(`[{}]`, times(20)[0], `{"$facet": {"a": [], "b": [], "c": []}}`,
				`{"$facet": {"a": [], "b": [], "c": []}}`, `{"$facet": {"a": [], "b": [], "c": []}}`,
				`{"$facet": {"a": [{"$unwind": "$a"}, {"$set": {"m": `+mega(20)+`}}]}}`, `{"$set": {"b": "$a"}}`,
				`{"$facet": {"a": [], "b": [], "c": [], "d": []}}`, `{"$set": {"e": "$$ROOT"}}`),
			append([]int32{0}, tooLarge...),
		},
		{"window", stages(`{"$limit": 1000000}`, `{"$setWindowFields": {"sortBy": {"i": 1}, "output": {"r": {"$push": "$$ROOT", "window": {"documents": ["unbounded", "unbounded"]}}}}}`, `{"$limit": 1}`), tooLarge},
		{"densify", pipelineOver(`[{"a": 0}, {"a": 1000000000000}]`, `{"$densify": {"field": "a", "range": {"step": 1, "bounds": "full"}}}`), []int32{5897900}},
		{"bucketAuto", stages(`{"$bucketAuto": {"groupBy": "$i", "buckets": 1, "output": {"r": {"$push": "$$ROOT"}}}}`), tooLarge},
	}
}

func nesting() []attack {
	deep := func(n int) string { return nested(`{"a": %s}`, "1", n) }
	thousand := strings.TrimSuffix(strings.Repeat(`{"$match": {}},`, 1000), ",")
	return []attack{
		{"document", `{"find": "c", "filter": ` + deep(190) + `}`, []int32{0, 15}},
		{"expression", computed(nested(`{"$add": [%s]}`, "1", 90)), []int32{0, 15}},
		{"cond", computed(nested(`{"$cond": [true, %s, 1]}`, "1", 80)), []int32{0, 15}},
		{"filter", `{"find": "c", "filter": ` + nested(`{"$and": [%s]}`, `{"a": 1}`, 80) + `}`, []int32{0, 15, 2}},
		{"lookup", nestedStages(`{"$lookup": {"from": "c", "as": "x", "pipeline": [%s]}}`, 21), []int32{232}},
		{"unionWith", nestedStages(`{"$unionWith": {"coll": "c", "pipeline": [%s]}}`, 21), []int32{232}},
		{"facet in facet", `{"aggregate": "c", "cursor": {}, "pipeline": [{"$facet": {"a": [{"$facet": {"b": []}}]}}]}`, []int32{40600}},
		{"1000 stages", `{"aggregate": "c", "cursor": {}, "pipeline": [` + thousand + `]}`, []int32{0}},
		{"1001 stages", `{"aggregate": "c", "cursor": {}, "pipeline": [` + thousand +
			`, {"$match": {}}]}`, []int32{7749501}},
		{"1001 stages in a lookup", `{"aggregate": "c", "cursor": {}, "pipeline": [{"$lookup": {"from": "c", "as": "x", "pipeline": [` + thousand + `, {"$match": {}}]}}]}`, []int32{7749501}},
		{"large pipeline", `{"aggregate": "c", "cursor": {}, "pipeline": [{"$match": {"a": {"$in": [` + strings.Repeat(`"some value",`, 400_000) + `1]}}}]}`, []int32{0}},
		{"large expression", computed(`{"$concat": [` + strings.Repeat(`"$s",`, 400_000) + `"x"]}`), []int32{0}},
	}
}

func nestedStages(wrap string, n int) string {
	return `{"aggregate": "c", "cursor": {}, "pipeline": [` + nested(wrap, `{"$match": {}}`, n) + `]}`
}

func wrong() []attack {
	date := func(op, more string) string {
		return computed(`{"` + op + `": {"date": {"$date": "2024-01-01T00:00:00Z"}` + more + `}}`)
	}
	out := func(name string) string {
		return `{"aggregate": "c", "cursor": {}, "pipeline": [{"$out": ` + name + `}]}`
	}
	return []attack{
		{"zone", date("$hour", `, "timezone": "Mars/Olympus"`), []int32{40485}},
		{"zone of a path", date("$hour", `, "timezone": "../../etc/passwd"`), []int32{40485}},
		{"zone's offset", date("$hour", `, "timezone": "+99:99"`), []int32{40485, 0}},
		{"zone's type", date("$hour", `, "timezone": 5`), []int32{40517}},
		{"format", date("$dateToString", `, "format": "%Q"`), []int32{18536}},
		{"half a format", date("$dateToString", `, "format": "%"`), []int32{18535}},
		{"read format", computed(`{"$dateFromString": {"dateString": "2024", "format": "%Q"}}`), []int32{18536}},
		{"no date", computed(`{"$dateFromString": {"dateString": "tomorrow-ish"}}`), []int32{241}},
		{"year out of range", computed(`{"$dateFromParts": {"year": 99999999}}`), []int32{40515, 40523, 40489}},
		{"division", computed(`{"$divide": [1, 0]}`), []int32{2}},
		{"remainder", computed(`{"$mod": [1, 0]}`), []int32{16610}},
		{"conversion", computed(`{"$toInt": 3000000000}`), []int32{241}},
		{"abs", computed(`{"$abs": {"$numberLong": "-9223372036854775808"}}`), []int32{28680}},
		{"pow", computed(`{"$pow": [0, -1]}`), []int32{28764}},
		{"sqrt", computed(`{"$sqrt": -1}`), []int32{28714}},
		{"date's overflow", computed(`{"$dateAdd": {"startDate": {"$date": "2024-01-01T00:00:00Z"}, "unit": "year", "amount": {"$numberLong": "9223372036854775807"}}}`), []int32{5166406, 5976500, 15}},
		{"out nowhere", out(`""`), []int32{73}},
		{"out with a null byte", out(`"a\u0000b"`), []int32{73}},
		{"out with a dollar", out(`"$x"`), []int32{20}},
		{"out from a dot", out(`".x"`), []int32{73}},
		{"out into system", out(`"system.x"`), []int32{17385, 73}},
		{"out too long", out(`"` + strings.Repeat("x", 300) + `"`), []int32{20}},
		{"out into admin", out(`{"db": "admin", "coll": "x"}`), []int32{31321}},
		{"out into local", out(`{"db": "local", "coll": "x"}`), []int32{31321}},
		{"out into a bad database", out(`{"db": "a.b", "coll": "x"}`), []int32{73}},
		{"out into a database with a space", out(`{"db": "a b", "coll": "x"}`), []int32{73}},
		{"out into a number", out(`5`), []int32{16990}},
		{"merge nowhere", `{"aggregate": "c", "cursor": {}, "pipeline": [{"$merge": {"into": ""}}]}`, []int32{51178, 5786800, 73}},
		{"regex", computed(`{"$regexMatch": {"input": "x", "regex": "("}}`), []int32{51111}},
		{"long regex", computed(`{"$regexMatch": {"input": "x", "regex": "` +
			strings.Repeat("a", 40_000) + `"}}`), []int32{51111, 0}},
		{"deep regex", computed(`{"$regexMatch": {"input": "x", "regex": "` + strings.Repeat("(", 5000) +
			strings.Repeat(")", 5000) + `"}}`), []int32{51111, 0}},
		{"counted regex", computed(`{"$regexMatch": {"input": "x", "regex": "((a{1,1000}){1,1000}){1,1000}"}}`), []int32{51111, 0}},
	}
}

// explosions are regular expressions that backtrack for ever.
func explosions() []attack {
	var out []attack
	input := strings.Repeat("a", 40) + "!"
	bad := []string{`(a+)+$`, `(a|aa)+$`, `(?=(a+)+$)b`, `(a*)*\\1$`, `^(([a-z])+.)+[A-Z]([a-z])+$`}
	for i, re := range torture.Some(bad, 2) {
		out = append(out,
			attack{
				fmt.Sprintf("regexMatch %d", i),
				computed(`{"$regexMatch": {"input": "` + input + `", "regex": "` + re + `"}}`),
				[]int32{0, 51156},
			},
		)
		if !*long {
			continue
		}
		out = append(out,
			attack{
				fmt.Sprintf("regexFindAll %d", i),
				computed(`{"$regexFindAll": {"input": "` + input + `", "regex": "` + re + `"}}`),
				[]int32{0, 51156},
			},
			attack{
				fmt.Sprintf("$regex %d", i),
				pipelineOver(`[{"s": "`+input+`"}]`,
					`{"$match": {"s": {"$regex": "`+re+`"}}}`),
				[]int32{0, 51091, 51156},
			},
		)
	}
	return out
}

// attacks returns all families of attacks. Each is run by one client that checks the replies, and
// by 16 clients at the same time in a container (TestAttacksTogether).
func attacks() map[string]func() []attack {
	return map[string]func() []attack{
		"growth": growth, "nesting": nesting, "wrong": wrong, "explosions": explosions,
		"floods": floods, "blocking": blockingAttacks,
	}
}

func TestGrowth(t *testing.T) {
	torture.NeedsLong(t)
	attackAll(t, "growth")
}

func TestNesting(t *testing.T) {
	torture.SkipShort(t)
	attackAll(t, "nesting")
}

func TestWrong(t *testing.T)      { attackAll(t, "wrong") }
func TestExplosions(t *testing.T) { attackAll(t, "explosions") }

func TestFloods(t *testing.T) {
	needsLong(t)
	attackAll(t, "floods")
}

func attackAll(t *testing.T, family string) {
	watchMemory(t, 3<<30)
	all := attacks()[family]()
	onEachConnection(t, func(t *testing.T, db *mongo.Database) {
		if _, err := db.Collection("c").InsertOne(t.Context(), bson.D{{"_id", 1}}); err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			start := time.Now()
			code, message := run(t, db, bsonxtest.ParseD(t, a.cmd))
			t.Logf("%s: %d after %v", a.name, code, time.Since(start))
			if !slices.Contains(a.want, code) {
				t.Errorf("%s: code %d (%.200s), want one of %v", a.name, code, message, a.want)
			}
			if slices.Equal(a.want, tooLarge) && !strings.ContainsAny(message, "0123456789") {
				t.Errorf("%s: the message does not tell the limit: %s", a.name, message)
			}
		}
	})
}
