package output

import (
	"context"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// merge is the compiled $merge stage.
type merge struct {
	source.Merge
	let    []parsing.Let
	RawLet bsonx.Value
	Opts   parsing.Options
}

// MergeDefinition returns the definition of $merge.
func MergeDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$merge", Parse: parseMerge,
		Safety:     parsing.Safety{Writes: feature.Yes, Transactions: feature.No, StableAPI: parsing.EveryUse},
		Properties: parsing.OfWriter(), Inside: insideMerge, Foreign: []string{"whenMatched"},
		NotExplained: 51184,
	}
}

// parseMerge compiles the argument of $merge.
func parseMerge(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	m := &merge{Merge: source.Merge{DB: opts.DB, WhenMatched: "merge", WhenNotMatched: "insert"}, Opts: opts}
	m.Vars = m.scope
	switch arg.Type {
	case bsonx.TypeString:
		m.Coll = arg.Str()
		if m.Coll == "" {
			return nil, mongoerr.New(mongoerr.InvalidNamespace, "Invalid $merge target namespace: '%s'", m.DB)
		}
	case bsonx.TypeDocument:
		if err := m.read(arg.Doc()); err != nil {
			return nil, err
		}
	default:
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"$merge requires a string or object argument, but found %s", arg.Type)
	}
	if err := parsing.CheckCollection(m.Coll); err != nil {
		return nil, err
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return []parsing.Stage{m}, nil
}

func (m *merge) read(spec bsonx.Doc) error {
	for it := spec.Iter(); it.Next(); {
		var err error
		v := it.Value()
		switch name := string(it.Key()); name {
		case "into":
			err = m.readInto(v)
		case "on":
			err = m.readOn(v)
		case "let":
			if v.IsNull() {
				break
			}
			m.RawLet = v
			if v.Type != bsonx.TypeDocument {
				err = mongoerr.New(mongoerr.TypeMismatch, "BSON field '$merge.let' is the wrong type '%s', expected type 'object'", v.Type)
			}
		case "whenMatched":
			err = m.readWhenMatched(v)
		case "whenNotMatched":
			if v.IsNull() {
				break
			}
			m.WhenNotMatched, err = mergeMode(name, v, "insert", "discard", "fail")
		default:
			err = mongoerr.New(mongoerr.IDLUnknownField, "BSON field '$merge.%s' is an unknown field.", name)
		}
		if err != nil {
			return err
		}
	}
	if spec.Lookup("into").IsMissing() {
		return mongoerr.New(mongoerr.IDLFailedToParse, "BSON field '$merge.into' is missing but a required field")
	}
	return nil
}

func (m *merge) readInto(v bsonx.Value) error {
	switch v.Type {
	case bsonx.TypeString:
		if m.Coll = v.Str(); m.Coll == "" {
			return mongoerr.New(5786800, "$merge 'into' field cannot be an empty string")
		}
		return nil
	case bsonx.TypeDocument:
	default:
		return mongoerr.New(51178, "$merge 'into' field  must be either a string or an object, but found %s", v.Type)
	}
	for it := v.Doc().Iter(); it.Next(); {
		name := string(it.Key())
		if name != "db" && name != "coll" {
			return mongoerr.New(mongoerr.IDLUnknownField, "BSON field 'into.%s' is an unknown field.", name)
		}
		if it.Value().Type != bsonx.TypeString && !it.Value().IsNull() {
			return mongoerr.New(mongoerr.TypeMismatch, "BSON field 'into.%s' is the wrong type '%s', expected type 'string'", name, it.Value().Type)
		}
	}
	if db := v.Doc().Lookup("db"); db.Type == bsonx.TypeString && db.Str() != "" {
		m.DB = db.Str()
	}
	coll := v.Doc().Lookup("coll")
	if coll.Type != bsonx.TypeString || coll.Str() == "" {
		return mongoerr.New(5786801, "$merge 'into' field must specify a 'coll' that is not empty, null or undefined")
	}
	m.Coll = coll.Str()
	return nil
}

func (m *merge) readOn(v bsonx.Value) error {
	switch v.Type {
	case bsonx.TypeString:
		m.On = []string{v.Str()}
		_, err := expr.SplitFieldPath(m.On[0])
		return err
	case bsonx.TypeArray:
		return m.readOnList(v.Doc())
	default:
		return mongoerr.New(51186, "$merge 'on' field  must be either a string or an array of strings, but found %s", v.Type)
	}
}

// readOnList reads a list of "on" fields. Like MongoDB, it checks all names for duplicates before
// it checks that each is a valid path.
func (m *merge) readOnList(list bsonx.Doc) error {
	var meter interrupt.Meter
	running := m.Opts.Vars.Scripts().Running
	seen := map[string]bool{}
	for it := list.Iter(); it.Next(); {
		if it.Value().Type != bsonx.TypeString {
			return mongoerr.New(51134, "$merge 'on' array elements must be strings, but found %s", it.Value().Type)
		}
		name := it.Value().Str()
		if seen[name] {
			return mongoerr.New(31465, "Found a duplicate field '%s'", name)
		}
		seen[name] = true
		m.On = append(m.On, name)
		if err := meter.Did(parsing.PathWork, running); err != nil {
			return err
		}
	}
	if len(m.On) == 0 {
		return mongoerr.New(51187, "If explicitly specifying $merge 'on', must include at least one field")
	}
	for _, name := range m.On {
		if _, err := expr.SplitFieldPath(name); err != nil {
			return err
		}
		if err := meter.Did(parsing.PathWork, running); err != nil {
			return err
		}
	}
	return nil
}

func (m *merge) readWhenMatched(v bsonx.Value) error {
	if v.Type == bsonx.TypeArray {
		m.WhenMatched, m.Stages = "pipeline", v.Clone()
		return nil
	}
	if v.Type != bsonx.TypeString {
		return mongoerr.New(51191, "$merge 'whenMatched' field  must be either a string or an array, but found %s", v.Type)
	}
	var err error
	m.WhenMatched, err = mergeMode("whenMatched", v, "replace", "merge", "keepExisting", "fail")
	return err
}

func mergeMode(field string, v bsonx.Value, modes ...string) (string, error) {
	if v.Type != bsonx.TypeString {
		return "", mongoerr.New(mongoerr.TypeMismatch, "BSON field '$merge.%s' is the wrong type '%s', expected type 'string'", field, v.Type)
	}
	if !slices.Contains(modes, v.Str()) {
		shown := field
		if field == "whenNotMatched" {
			shown = "$merge." + field
		}
		return "", mongoerr.New(mongoerr.BadValue, "Enumeration value '%s' for field '%s' is not a valid value.", v.Str(), shown)
	}
	return v.Str(), nil
}

// check rejects unsupported combinations of modes and forbidden target collections. It then
// compiles the variables and checks the names of the pipeline's stages.
func (m *merge) check() error {
	if m.WhenNotMatched != "insert" && (m.WhenMatched == "keepExisting" || m.WhenMatched == "fail") {
		return mongoerr.New(51181, "Combination of $merge modes 'whenMatched: %s' and 'whenNotMatched: %s' is not supported", m.WhenMatched, m.WhenNotMatched)
	}
	if isInternal(m.DB) {
		return mongoerr.New(31320, "Cannot $merge to internal database: %s", m.DB)
	}
	if strings.HasPrefix(m.Coll, "system.") {
		return mongoerr.New(31319, "Cannot $merge to special collection: %s", m.Coll)
	}
	if m.WhenMatched != "pipeline" {
		if !m.RawLet.IsMissing() {
			return mongoerr.New(51199, "Cannot use 'let' variables with 'whenMatched: %s' mode", m.WhenMatched)
		}
		return nil
	}
	if v := m.RawLet.Doc(); v != nil && !isRoot(v.Lookup("new")) {
		return mongoerr.New(51273, "'let' may not define a value for the reserved 'new' variable other than '$$ROOT'")
	}
	// An update pipeline is not optimised, so failing constants are not errors yet.
	var ignored expr.Failures
	var err error
	if m.let, _, err = parsing.ParseLets(m.RawLet.Doc(), m.Opts.Vars.WithFailures(&ignored)); err != nil {
		return err
	}
	// As in MongoDB, the pipeline itself is compiled for each merged document.
	return m.Opts.CheckNames(m.Stages)
}

// isRoot reports whether v is missing or "$$ROOT".
func isRoot(v bsonx.Value) bool {
	return v.IsMissing() || v.Type == bsonx.TypeString && v.Str() == "$$ROOT"
}

// scope returns the variables for the pipeline that merges doc.
func (m *merge) scope(doc bsonx.Doc) (*expr.Vars, error) {
	ctx := &expr.Context{Root: bsonx.Document(doc), Now: m.Opts.Now}
	vars := m.Opts.Vars.WithConst("new", bsonx.Document(doc))
	for _, l := range m.let {
		v, err := l.Value.Eval(ctx)
		if err != nil {
			return nil, err
		}
		vars = vars.WithConst(l.Name, v)
	}
	return vars, nil
}

// Open implements parsing.Stage.
func (m *merge) Open(src source.Source, env *source.Env) source.Source {
	return &writerSource{
		Input: source.Input{Src: src},
		write: func(ctx context.Context, w source.Writer) error { return w.Merge(ctx, &m.Merge, src) }, env: env,
	}
}

func insideMerge(arg bsonx.Value, w parsing.Walker) {
	w.Update(parsing.Argument(arg, "whenMatched"))
}

// Explain implements parsing.Stage.
func (m *merge) Explain(ctx context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Doc("into", bsonx.NewDoc("db", m.DB, "coll", m.Coll))
	switch len(m.On) {
	case 0:
		b.String("on", "_id")
	case 1:
		b.String("on", m.On[0])
	default:
		b.StartArrayField("on")
		for _, path := range m.On {
			b.Elem(bsonx.String(path))
		}
		b.End()
	}
	if m.WhenMatched == "pipeline" {
		b.StartDocField("let")
		vars := m.Opts.Vars
		for it := m.RawLet.Doc().Iter(); it.Next(); {
			if string(it.Key()) != "new" {
				b.ValueBytes(it.Key(), x.Expression(it.Value()))
				vars, _ = vars.WithSlot(string(it.Key()))
			}
		}
		b.String("new", "$$ROOT")
		b.End()
		vars, _ = vars.WithSlot("new")
		docs, err := x.Sub(ctx, m.Stages.Doc().Values(), m.DB, vars)
		if err != nil {
			return nil, err
		}
		b.Value("whenMatched", bsonx.ValueOf(docs))
	} else {
		b.String("whenMatched", m.WhenMatched)
	}
	b.String("whenNotMatched", m.WhenNotMatched)
	b.End()
	return parsing.Forms(bsonx.NewDoc("$merge", bsonx.Doc(b.Bytes()))), nil
}
