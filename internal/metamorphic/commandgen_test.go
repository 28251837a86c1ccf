package metamorphic

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/command/argtest"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/pipeline"
	updates "github.com/sheafdb/sheaf/internal/update"
)

// step is one command of a round.
type step struct {
	conn int
	cmd  bson.D // including its database
	// live means that the id of an open cursor is put into the command. Its value selects the
	// cursor. 0 means that the command gets no cursor.
	live int
	// compared means that the command is run again without indexes, and that the two replies are
	// compared.
	compared bool
	// together means that the step runs at the same time as the adjacent steps with together.
	together bool
	// after is a command that restores what cmd may have changed for all later commands, such as a
	// fail point or a lock.
	after bson.D
}

const (
	commandDB   = "args" // the database of argtest
	connections = 4
	sessions    = 3
)

// commandGen makes random commands of all kinds.
type commandGen struct {
	*gen
	pipes     *pipelineGen
	corpus    *corpus
	types     []argtest.Value
	arguments []argtest.Argument
	fitting   map[string][]any // values of the right type, by argument
	operators []string
	stages    []string
	given     map[string]int // how often each argument was given, in all rounds

	// txn has the number of the newest transaction of each session.
	txn [sessions]int64
	// open tells for each session whether a transaction is open.
	open [sessions]bool
}

// commandFamily has the fields, keys and operations of all families.
var commandFamily = &family{
	keys: slices.Concat(indexKeys, placeFamily.keys, []bson.D{
		{{"t", "text"}, {"tags", "text"}},
		{{"b", 1}, {"t", "text"}},
		{{"$**", "text"}},
	}),
	fields:    func(g *gen) bson.D { return slices.Concat(g.places(), g.texts()) },
	predicate: (*gen).placePredicate,
}

var commandOperations = slices.Concat(generators[:len(generators)-1],
	[]operation{{2, (*gen).near}, {2, (*gen).geoNear}, {2, (*gen).search}, {1, (*gen).misplace}})

// commandSource is shared by all rounds: they take commands and values from it.
type commandSource struct {
	corpus    *corpus
	arguments []argtest.Argument
	fitting   map[string][]any
	operators []string
	stages    []string
	given     map[string]int
}

func (s *commandSource) newGen(seed uint64) *commandGen {
	r := rand.New(rand.NewPCG(seed, 23))
	return &commandGen{
		gen: &gen{Rand: r, family: commandFamily}, pipes: &pipelineGen{Rand: r}, corpus: s.corpus,
		types: argtest.Values(), arguments: s.arguments,
		fitting: s.fitting, operators: s.operators, stages: s.stages, given: s.given,
	}
}

// operatorNames lists the operators of all languages.
func operatorNames() (operators, stages []string) {
	for _, op := range expressions.Table().List() {
		operators = append(operators, op.Name)
	}
	for _, op := range filter.Operators() {
		operators = append(operators, op.Name)
	}
	for _, op := range updates.Operators() {
		operators = append(operators, op.Name)
	}
	for _, op := range pipeline.Stages() {
		stages = append(stages, op.Name)
	}
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(operators, stages)))), stages
}

// fittingValues returns the values of the right type for each argument.
func fittingValues(arguments []argtest.Argument) map[string][]any {
	defs := commands.Definitions()
	out := map[string][]any{}
	for _, a := range arguments {
		name, _, _ := strings.Cut(a.Base.Name, "/")
		at := slices.IndexFunc(defs, func(d command.Definition) bool { return d.Name == name })
		typ, ok := fieldType(slices.Concat(defs[at].Fields, command.GenericFields()), a.Path)
		if !ok {
			continue
		}
		for _, v := range argtest.Values() {
			if strings.Contains(typ.String(), v.Type) {
				out[a.String()] = append(out[a.String()], v.Value)
			}
		}
	}
	return out
}

func fieldType(fields []command.Field, path string) (command.FieldType, bool) {
	name, rest, deeper := strings.Cut(path, ".")
	if name == "0" {
		return fieldType(fields, rest)
	}
	for i := range fields {
		if fields[i].Name == name {
			if deeper {
				return fieldType(fields[i].Fields, rest)
			}
			return fields[i].Type, true
		}
	}
	return command.FieldType{}, false
}

// begin returns the commands that create the collections of a round.
func (g *commandGen) begin() []step {
	create := func(name string, options ...bson.E) bson.D {
		return append(bson.D{{"create", name}}, options...)
	}
	docs := func(coll string, text func(i int) string, n int) bson.D {
		list := bson.A{}
		for i := range n {
			if d, err := bsonxtest.TryParseD(text(i)); err == nil {
				list = append(list, d)
			}
		}
		return bson.D{{"insert", coll}, {"documents", list}}
	}
	index := indexesOf
	key := pairs
	cmds := []bson.D{
		g.insert(), g.insert(), g.insert(), g.insert(),
		index(collName, key("a", 1)), g.createIndex(), g.createIndex(), g.createIndex(),
		create("v", bson.E{"viewOn", collName},
			bson.E{"pipeline", bson.A{bson.D{{"$match", g.filter(1)}}}}),
		create("cap", bson.E{"capped", true}, bson.E{"size", 10000}),
		{{"insert", "cap"}, {"documents", bson.A{key("a", 1), key("a", 2)}}},
		docs("p", func(i int) string { return g.pipes.document(i, "") }, 30),
		docs("d", func(i int) string { return g.pipes.document(i, "") }, 8),
		index("p", key("b", 1, "c", -1, "_id", 1), key("s", -1, "_id", -1), key("o.p", 1, "_id", 1)),
	}
	var out []step
	for _, cmd := range append(cmds, g.otherKinds()...) {
		out = append(out, step{cmd: append(cmd, bson.E{"$db", commandDB})})
	}
	return out
}

func indexesOf(coll string, keys ...bson.D) bson.D {
	specs := bson.A{}
	for i, key := range keys {
		specs = append(specs, bson.D{{"key", key}, {"name", fmt.Sprint("p", i)}})
	}
	return bson.D{{"createIndexes", coll}, {"indexes", specs}}
}

// pairs returns a document of names and values.
func pairs(list ...any) (d bson.D) {
	for i := 0; i < len(list); i += 2 {
		d = append(d, bson.E{list[i].(string), list[i+1]})
	}
	return d
}

// otherKinds returns the commands that create collections of other kinds, with documents and
// indexes of their own: a time series and a view of it, a clustered collection, one with a
// collation.
func (g *commandGen) otherKinds() []bson.D {
	measurements, clustered, collated := bson.A{}, bson.A{}, bson.A{}
	for i := range 30 {
		m := pairs("t", bson.DateTime(int64(i)*700_000), "m",
			pick(g.gen, []any{int32(1), "x", pairs("a", int32(i%3)), nil}))
		for _, name := range []string{"a", "b", "x"} {
			if !g.chance(4) {
				m = append(m, bson.E{name, g.scalar()})
			}
		}
		measurements = append(measurements, m)
		clustered, collated = append(clustered, g.newDoc()), append(collated, g.newDoc())
	}
	insert := func(coll string, docs bson.A) bson.D {
		return bson.D{{"insert", coll}, {"documents", docs}, {"ordered", false}}
	}
	return []bson.D{
		pairs("create", "ts", "timeseries", pairs("timeField", "t", "metaField", "m")), insert("ts", measurements),
		indexesOf("ts", pairs("a", 1), pairs("m", 1, "b", -1), pairs("m.a", 1), pairs("x", 1, "t", -1)),
		pairs("create", "vts", "viewOn", "ts", "pipeline", bson.A{pairs("$match", pairs("x", pairs("$exists", true)))}),
		pairs("create", "cl", "clusteredIndex", pairs("key", pairs("_id", 1), "unique", true)), insert("cl", clustered),
		indexesOf("cl", pairs("a", 1), pairs("b", 1, "a", -1), pairs("$**", 1)),
		pairs("create", "co", "collation", pairs("locale", "en", "strength", 1)), insert("co", collated),
		indexesOf("co", pairs("a", 1), pairs("b", -1, "_id", 1), pairs("t", "hashed")),
	}
}

// next makes the next command of a round.
func (g *commandGen) next() step {
	s := g.make()
	for len(s.cmd) == 0 {
		s = g.make()
	}
	if !s.compared && g.chance(2) {
		for range 1 + g.IntN(3) {
			s.cmd = g.mutate(s.cmd)
		}
	}
	s.conn = g.IntN(connections)
	if lookup(s.cmd, "$db") == nil {
		s.cmd = append(s.cmd, bson.E{"$db", commandDB})
	}
	g.inSession(&s)
	tame(&s, g)
	return s
}

func (g *commandGen) make() step {
	switch n := g.IntN(100); {
	case n < 25:
		return g.operation()
	case n < 40:
		return g.comparedPipeline()
	case n < 60:
		return g.base()
	case n < 78:
		return g.fromCorpus()
	case n < 88:
		return g.composed()
	default:
		return g.cursorStep()
	}
}

// operation returns an operation of the other tests in this package. A read is compared, and often
// its predicate is mutated.
func (g *commandGen) operation() step {
	total := 0
	for _, k := range commandOperations {
		total += k.weight
	}
	at := g.IntN(total)
	var cmd bson.D
	for _, k := range commandOperations {
		if at -= k.weight; at < 0 {
			cmd = k.make(g.gen)
			break
		}
	}
	if cmd[0].Value == collName && g.chance(3) {
		cmd = slices.Clone(cmd)
		cmd[0].Value = pick(g.gen, []string{"cl", "ts", "co", "cap"})
	}
	s := step{cmd: cmd}
	switch cmd[0].Key {
	case "find", "count", "distinct", "aggregate":
		s.compared = true
		if g.chance(2) {
			s.cmd = g.mutatePredicate(s.cmd)
		}
	}
	return s
}

// mutatePredicate changes the predicate of a read, but not its order.
func (g *commandGen) mutatePredicate(cmd bson.D) bson.D {
	cmd = slices.Clone(cmd)
	for i, e := range cmd {
		if p, ok := e.Value.(bson.D); ok && (e.Key == "filter" || e.Key == "query") {
			wrapped := g.mutate(bson.D{{"f", p}})
			cmd[i].Value = wrapped[0].Value
			if g.chance(3) {
				cmd[i].Value = bson.D{{pick(g.gen, paths), g.operatorOf(2)}}
			}
		}
	}
	return cmd
}

func (g *commandGen) comparedPipeline() step {
	text := `{"aggregate": "p", "pipeline": [` + strings.Join(g.pipes.pipeline(), ", ") +
		`], "cursor": {"batchSize": 1000}}`
	d, err := bsonxtest.TryParseD(text)
	if err != nil {
		return step{}
	}
	if g.chance(4) {
		return step{cmd: d} // without compared, next may mutate the command
	}
	return step{cmd: d, compared: true}
}

// hard are commands after which little data is left for other commands.
var hard = map[string]bool{
	"dropDatabase": true, "drop": true, "renameCollection": true, "convertToCapped": true, "replSetFreeze": true,
	"setFeatureCompatibilityVersion": true,
	"endSessions":                    true, "killAllSessions": true, "killAllSessionsByPattern": true, "killSessions": true,
	"fsync": true, "replSetMaintenance": true,
}

// base returns a command of any name, with some of its arguments replaced or added.
func (g *commandGen) base() step {
	a := pick(g.gen, g.arguments)
	if name, _, _ := strings.Cut(a.Base.Name, "/"); hard[name] && !g.chance(8) {
		return step{}
	}
	cmd := slices.Clone(a.Base.Command)
	for range g.IntN(4) {
		b := pick(g.gen, g.ofBase(a.Base))
		g.given[b.String()]++
		v := g.anyValue(2)
		if fit := g.fitting[b.String()]; len(fit) > 0 && !g.chance(3) {
			v = pick(g.gen, fit)
		}
		cmd = argtest.Argument{Base: &argtest.Base{Command: cmd}, Path: b.Path}.With(v)
	}
	s := step{cmd: cmd}
	if g.chance(4) && a.Base.Name == "getMore" {
		s.live = 1 + g.IntN(100)
	}
	if a.Base.DB != commandDB {
		s.cmd = append(s.cmd, bson.E{"$db", a.Base.DB})
	}
	return s
}

// ofBase returns the arguments of one base command. They may be used together.
func (g *commandGen) ofBase(base *argtest.Base) []argtest.Argument {
	begin := slices.IndexFunc(g.arguments, func(a argtest.Argument) bool { return a.Base == base })
	end := begin
	for end < len(g.arguments) && g.arguments[end].Base == base {
		end++
	}
	return g.arguments[begin:end]
}

var anyCollections = []string{collName, collName, collName, "p", "d", "v", "cap", "ts", "vts", "cl", "co", "nothing"}

// fromCorpus puts lines of the data-driven tests into commands.
func (g *commandGen) fromCorpus() step {
	coll := pick(g.gen, anyCollections)
	field := func(name string, v any) bson.E { return bson.E{name, v} }
	find := bson.D{field("find", coll)}
	aggregate := func(stages any) bson.D {
		cmd := bson.D{field("aggregate", coll), field("pipeline", stages), field("cursor", bson.D{})}
		if a, ok := stages.(bson.A); ok && len(a) > 0 {
			if first, ok := a[0].(bson.D); ok && len(first) > 0 && first[0].Key == "$documents" {
				cmd[0].Value = 1
			}
		}
		return cmd
	}
	var cmd bson.D
	switch g.IntN(9) {
	case 0:
		cmd = append(find, field("filter", g.pickLine(g.corpus.filters)))
	case 1:
		cmd = append(find, field("filter", g.filter(1)), field("projection", g.pickLine(g.corpus.projections)))
	case 2:
		cmd = append(find, field("filter", bson.D{{"$expr", g.pickLine(g.corpus.expressions)}}))
	case 3:
		cmd = aggregate(bson.A{bson.D{{
			"$project",
			bson.D{{"r", g.pickLine(g.corpus.expressions)}},
		}}})
	case 4:
		cmd = aggregate(g.pickLine(g.corpus.pipelines))
	case 5:
		u := g.pickLine(g.corpus.updates)
		cmd = updateOf(coll, bson.D{
			field("q", g.filter(1)), field("u", u), field("multi", g.chance(2)),
			field("upsert", g.chance(4)),
		})
	case 6:
		cmd = bson.D{
			field("findAndModify", coll), field("query", g.pickLine(g.corpus.filters)),
			field("update", g.pickLine(g.corpus.updates)), field("new", g.chance(2)),
		}
	case 7:
		cmd, _ = g.pickLine(g.corpus.commands).(bson.D)
		if len(cmd) == 0 || strings.HasPrefix(cmd[0].Key, "$") || hard[cmd[0].Key] && !g.chance(8) {
			return step{}
		}
	default:
		cmd = bson.D{field("insert", coll), field("documents", bson.A{g.pickLine(g.corpus.documents)})}
	}
	return g.explained(step{cmd: cmd})
}

func updateOf(coll string, statement bson.D) bson.D {
	cmd := update(statement)
	cmd[0].Value = coll
	return cmd
}

// composed returns a command with random operators, of any language, in the places of its
// arguments.
func (g *commandGen) composed() step {
	coll := pick(g.gen, anyCollections)
	field := func(name string, v any) bson.E { return bson.E{name, v} }
	op := func() bson.D { return g.operatorOf(2) }
	at := func(v any) bson.D { return bson.D{{pick(g.gen, paths), v}} }
	var cmd bson.D
	switch g.IntN(9) {
	case 0:
		cmd = bson.D{field("find", coll), field("filter", at(op()))}
	case 1:
		cmd = bson.D{field("find", coll), field("projection", at(op())), field("sort", at(g.anyValue(1)))}
	case 2:
		cmd = bson.D{
			field("aggregate", coll),
			field("pipeline", bson.A{bson.D{{"$project", at(op())}}}), field("cursor", bson.D{}),
		}
	case 3:
		stages := bson.A{}
		for range 1 + g.IntN(3) {
			stages = append(stages, bson.D{{pick(g.gen, g.stages), g.anyValue(3)}})
		}
		cmd = bson.D{field("aggregate", coll), field("pipeline", stages), field("cursor", bson.D{})}
	case 4:
		cmd = bson.D{
			field("aggregate", coll),
			field("pipeline", bson.A{bson.D{{
				"$group",
				bson.D{
					{"_id", g.anyValue(2)},
					{"x", op()},
				},
			}}}), field("cursor", bson.D{}),
		}
	case 5:
		cmd = updateOf(coll, bson.D{
			field("q", g.filter(1)), field("u", g.operatorOf(3)), field("multi", g.chance(2)),
			field("upsert", g.chance(3)),
		})
	case 6:
		cmd = bson.D{
			field("delete", coll),
			field("deletes", bson.A{bson.D{field("q", at(op())), field("limit", g.IntN(2))}}),
		}
	case 7:
		spec := bson.D{
			field("key", at(pick(g.gen, []any{1, -1, "text", "2d", "2dsphere", "hashed", g.anyValue(1)}))),
			field("name", indexName(g.IntN(20))),
			field(pick(g.gen, []string{
				"partialFilterExpression", "unique", "sparse", "collation", "weights",
				"wildcardProjection", "expireAfterSeconds", "hidden",
			}), g.anyValue(2)),
		}
		cmd = bson.D{field("createIndexes", coll), field("indexes", bson.A{spec})}
	default:
		cmd = bson.D{field("bulkWrite", 1), field("ops", bson.A{
			bson.D{field("insert", 0), field("document", g.newDoc())},
			bson.D{field("update", 0), field("filter", at(op())), field("updateMods", g.safeUpdate())},
			bson.D{field("delete", 0), field("filter", g.filter(1))},
		}), field("nsInfo", bson.A{bson.D{field("ns", commandDB+"."+coll)}}), field("$db", "admin")}
	}
	return g.explained(step{cmd: cmd})
}

// explained puts a command into explain, once in a while.
func (g *commandGen) explained(s step) step {
	if len(s.cmd) == 0 || !g.chance(12) {
		return s
	}
	inner := slices.DeleteFunc(slices.Clone(s.cmd), func(e bson.E) bool { return e.Key == "$db" })
	s.cmd = bson.D{
		{"explain", inner},
		{"verbosity", pick(g.gen, []string{"queryPlanner", "executionStats", "allPlansExecution"})},
	}
	return s
}

// cursorStep opens, reads or closes a cursor.
func (g *commandGen) cursorStep() step {
	field := func(name string, v any) bson.E { return bson.E{name, v} }
	small := bson.D{field("batchSize", g.IntN(3))}
	live := 1 + g.IntN(100)
	switch g.IntN(12) {
	case 0, 1:
		return step{cmd: append(bson.D{
			field("find", pick(g.gen, anyCollections)), field("filter", g.filter(1)),
			field("sort", g.sort()),
		}, small...)}
	case 2:
		return step{cmd: append(bson.D{field("find", collName), field("filter", g.filter(1))}, small...)}
	case 3:
		return step{cmd: append(bson.D{
			field("find", "cap"), field("tailable", true),
			field("awaitData", g.chance(2)),
		}, small...)}
	case 4:
		stages := bson.A{bson.D{field("$changeStream", bson.D{})}}
		if g.chance(3) {
			stages = append(stages, bson.D{field("$match", g.filter(1))})
		}
		return step{cmd: bson.D{
			field("aggregate", pick(g.gen, []any{collName, 1})),
			field("pipeline", stages), field("cursor", small),
		}}
	case 5:
		return step{cmd: bson.D{field(pick(g.gen, []string{"listIndexes", "listCollections"}),
			collName), field("cursor", small)}}
	case 6:
		return step{cmd: bson.D{field("killCursors", collName), field("cursors", bson.A{int64(1)})}, live: live}
	default:
		return step{cmd: bson.D{
			field("getMore", int64(1)), field("collection", collName),
			field("batchSize", g.IntN(4)),
		}, live: live}
	}
}

// inSession gives a command a session, and often a transaction number. It keeps transactions short,
// because other commands wait for them.
func (g *commandGen) inSession(s *step) {
	n := g.IntN(sessions)
	inTransaction := g.open[n]
	if !inTransaction && !g.chance(5) || inTransaction && g.chance(2) {
		return
	}
	if lookup(s.cmd, "lsid") != nil {
		return
	}
	lsid := bson.E{
		"lsid",
		bson.D{{"id", bson.Binary{Subtype: 4, Data: slices.Repeat([]byte{byte(n + 1)}, 16)}}},
	}
	number := bson.E{"txnNumber", g.txn[n]}
	switch {
	case inTransaction && g.chance(4):
		g.open[n] = false
		*s = step{
			conn: s.conn,
			cmd: bson.D{
				{pick(g.gen, []string{"commitTransaction", "abortTransaction"}), 1},
				lsid, number,
				{"autocommit", false},
				{"$db", "admin"},
			},
		}
	case inTransaction:
		s.cmd = append(s.cmd, lsid, number, bson.E{"autocommit", false})
	case g.chance(3):
		g.txn[n]++
		g.open[n] = true
		number.Value = g.txn[n]
		s.cmd = append(s.cmd, lsid, number, bson.E{"startTransaction", true},
			bson.E{"autocommit", false})
	case g.chance(3):
		g.txn[n]++
		number.Value = g.txn[n]
		s.cmd = append(s.cmd, lsid, number)
	default:
		s.cmd = append(s.cmd, lsid)
	}
}
