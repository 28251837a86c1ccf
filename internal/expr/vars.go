package expr

import (
	"strings"
	"time"
	"unsafe"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Vars is the scope for parsing expressions. It is immutable: binding a variable creates a new
// scope. A nil *Vars has only the system variables, and no operators.
type Vars struct {
	parent *Vars
	name   string
	value  bsonx.Value // the value of the variable if slot is constSlot
	slot   int
	// inlined is true if the variable belongs to a $let with a constant value. MongoDB nevertheless
	// binds it for each document.
	inlined bool
	scripts *js.Options // limits of JavaScript, if this scope sets them
	next    int         // the first free slot for nested scopes
	// clusterTime returns the value of $$CLUSTER_TIME. It is nil unless this scope sets it.
	clusterTime func() bsonx.Value
	// collation compares strings; nil means binary comparison.
	collation *collation.Collator

	// operators is the table of operators. It is nil if only paths and literals can be parsed.
	operators *Table

	stable bool // this scope and nested scopes are limited to the Stable API
	// failures records the errors of constants in this scope and in nested scopes. If it is nil,
	// they are not recorded.
	failures *Failures
}

const constSlot = -3

// child returns a nested scope without changes.
func (v *Vars) child() *Vars {
	if v == nil {
		return &Vars{slot: constSlot}
	}
	return &Vars{
		parent: v, slot: constSlot, next: v.next, failures: v.failures,
		collation: v.collation, operators: v.operators,
	}
}

// Operators returns the operators of the scope, or nil.
func (v *Vars) Operators() *Table {
	if v == nil {
		return nil
	}
	return v.operators
}

// WithLet returns the scope with the variables of a command's `let`. Their values are expressions
// without field paths. They are evaluated here, once, and see only the variables of v. The scope v
// may be nil.
func (v *Vars) WithLet(let bsonx.Doc, now time.Time) (*Vars, error) {
	if let.IsEmpty() {
		return v, nil
	}
	vars := v
	ctx := &Context{Now: now}
	var held memory.Tally
	for it := let.Iter(); it.Next(); {
		name := string(it.Key())
		if isInternalConstant(name) {
			return nil, mongoerr.New(4738901, "Attempt to set internal constant: %s", name)
		}
		if err := CheckVariableName(name); err != nil {
			return nil, mongoerr.Within("Invalid 'let' parameter", err)
		}
		e, err := Parse(it.Value(), v)
		if err != nil {
			return nil, err
		}
		if readsDocument(e) {
			return nil, mongoerr.New(4890500, "Command let Expression tried to access a field, but this is not allowed because"+
				"Command let Expressions run before the query examines any documents.")
		}
		value, err := e.Eval(ctx)
		if err != nil {
			return nil, err
		}
		vars = vars.WithConst(name, value.Clone())
		if err := held.Add(v.Scripts().Running.Context(), variableBytes+int64(len(name)+len(value.Data))); err != nil {
			return nil, err
		}
	}
	return vars, nil
}

// variableBytes estimates the memory of a let variable in bytes.
const variableBytes = int64(unsafe.Sizeof(Vars{})) + 16

// WithConstants returns the scope with the constants ("c") of an update. Their values are not
// expressions, and their names may start with an upper-case letter.
func (v *Vars) WithConstants(constants bsonx.Doc) (*Vars, error) {
	vars := v
	for it := constants.Iter(); it.Next(); {
		name := string(it.Key())
		if err := checkVariableRead(name); err != nil {
			return nil, err
		}
		if isSystemVariable(name) {
			return nil, mongoerr.New(17275, "Can't redefine a non-user-writable variable")
		}
		vars = vars.WithConst(name, it.Value().Clone())
	}
	return vars, nil
}

// isInternalConstant reports whether name is a variable that a router passes to shards in `let`,
// and that clients must not set.
func isInternalConstant(name string) bool {
	switch name {
	case "NOW", "CLUSTER_TIME", "JS_SCOPE", "IS_MR", "USER_ROLES":
		return true
	default:
		return false
	}
}

// isSystemVariable reports whether name is a system variable of MongoDB. CURRENT does not count,
// because it may be rebound.
func isSystemVariable(name string) bool {
	switch name {
	case "ROOT", "REMOVE", "SEARCH_META":
		return true
	default:
		return isInternalConstant(name)
	}
}

func readsDocument(e Expr) bool {
	var deps Dependencies
	deps.Depend(e)
	return deps.WholeDocument || deps.Meta || len(deps.Paths) > 0
}

// WithConst returns the scope with another variable, which has a constant value.
func (v *Vars) WithConst(name string, value bsonx.Value) *Vars {
	scope := v.child()
	scope.name, scope.value = name, value
	return scope
}

// WithCollation returns the scope with the collation c; nil means binary comparison.
func (v *Vars) WithCollation(c *collation.Collator) *Vars {
	if c = c.Serving(v.Scripts().Running); v.Collation() == c {
		return v
	}
	scope := v.child()
	scope.collation = c
	return scope
}

// WithClusterTime returns the scope in which $$CLUSTER_TIME is the result of now, called when an
// expression is compiled.
func (v *Vars) WithClusterTime(now func() bsonx.Value) *Vars {
	scope := v.child()
	scope.clusterTime = now
	return scope
}

// WithStableAPI returns the scope limited to the Stable API: other operators and metadata are
// errors.
func (v *Vars) WithStableAPI() *Vars {
	scope := v.child()
	scope.stable = true
	return scope
}

// CheckMeta returns an error for a kind of metadata outside of the Stable API, if the scope is
// limited to it.
func (v *Vars) CheckMeta(kind string) error {
	if v.isStable() && Metadata(kind).StableAPI == feature.No {
		return mongoerr.New(mongoerr.APIStrictError, "Provided apiStrict is true with an unstable meta field \"%s\"", kind)
	}
	return nil
}

// CheckStable returns an error for the operator name, which is outside of the Stable API, if the
// scope is limited to it.
func (v *Vars) CheckStable(name string) error {
	if v.isStable() {
		return mongoerr.New(mongoerr.APIStrictError, "%s is not allowed with 'apiStrict: true' in API Version 1", name)
	}
	return nil
}

// isStable reports whether the scope is limited to the Stable API.
func (v *Vars) isStable() bool {
	for s := v; s != nil; s = s.parent {
		if s.stable {
			return true
		}
	}
	return false
}

// clusterTimeNow returns the cluster time of the replica set, or bsonx.Missing without a replica
// set.
func (v *Vars) clusterTimeNow() bsonx.Value {
	for s := v; s != nil; s = s.parent {
		if s.clusterTime != nil {
			return s.clusterTime()
		}
	}
	return bsonx.Missing
}

// Collation returns the collation of the scope; nil means binary comparison.
func (v *Vars) Collation() *collation.Collator {
	if v == nil {
		return nil
	}
	return v.collation
}

// WithSlot returns the scope with another variable, and the slot into which Context.Bind stores its
// value.
func (v *Vars) WithSlot(name string) (*Vars, int) {
	slot := v.nextSlot()
	scope := v.child()
	scope.name, scope.slot, scope.next = name, slot, slot+1
	return scope, slot
}

func (v *Vars) nextSlot() int {
	if v == nil {
		return 0
	}
	return v.next
}

// Reference compiles a reference to the variable name, followed by the path parts.
func (v *Vars) Reference(name string, parts []string, dotted string) (Expr, error) {
	for s := v; s != nil; s = s.parent {
		if s.name != name {
			continue
		}
		if s.slot == constSlot {
			return &Const{walkPath(s.value, parts)}, nil
		}
		return &Path{slot: s.slot, parts: parts, dotted: dotted, running: v.Scripts().Running}, nil
	}
	switch name {
	case "ROOT", "CURRENT":
		return &Path{slot: rootSlot, parts: parts, dotted: dotted, running: v.Scripts().Running}, nil
	case "NOW":
		return &Path{slot: nowSlot, parts: parts, dotted: dotted, running: v.Scripts().Running}, nil
	case "REMOVE":
		return &Const{bsonx.Missing}, nil
	case "USER_ROLES":
		// Without authentication, nobody has roles.
		return &Const{walkPath(bsonx.NewArray(), parts)}, nil
	case "SEARCH_META":
		return nil, mongoerr.New(6347902, "Can't access $$SEARCH_META without a $search stage earlier in the pipeline")
	case "CLUSTER_TIME", "JS_SCOPE", "IS_MR":
		if name == "CLUSTER_TIME" {
			if now := v.clusterTimeNow(); !now.IsMissing() {
				return &Const{walkPath(now, parts)}, nil
			}
		}
		return nil, mongoerr.New(51144, "Builtin variable '$$%s' is not available", name)
	}
	return nil, mongoerr.New(17276, "Use of undefined variable: %s", name)
}

// Inlines reports whether value refers to an inlined variable of $let.
func (v *Vars) Inlines(value bsonx.Value) bool {
	switch value.Type {
	case bsonx.TypeString:
		name, ok := strings.CutPrefix(value.Str(), "$$")
		name, _, _ = strings.Cut(name, ".")
		for s := v; ok && s != nil; s = s.parent {
			if s.name == name {
				return s.inlined
			}
		}
	case bsonx.TypeArray, bsonx.TypeDocument:
		for it := value.Doc().Iter(); it.Next(); {
			if v.Inlines(it.Value()) {
				return true
			}
		}
	default:
	}
	return false
}

// CheckVariableName checks the name of a variable that the client binds. It must start with a
// lower-case letter or a non-ASCII character, and may contain letters, digits, underscores and
// non-ASCII characters. CURRENT is allowed too.
func CheckVariableName(name string) error {
	if name == "CURRENT" {
		return nil
	}
	if name == "" {
		return mongoerr.New(mongoerr.FailedToParse, "empty variable names are not allowed")
	}
	if c := name[0]; (c < 'a' || c > 'z') && c < 0x80 {
		return mongoerr.New(mongoerr.FailedToParse, "'%s' starts with an invalid character for a user variable name", name)
	}
	return checkVariableRest(name)
}

func checkVariableRead(name string) error {
	if name == "" {
		return mongoerr.New(mongoerr.FailedToParse, "empty variable names are not allowed")
	}
	if c := name[0] | 0x20; (c < 'a' || c > 'z') && name[0] < 0x80 {
		return mongoerr.New(mongoerr.FailedToParse, "'%s' starts with an invalid character for a user variable name", name)
	}
	return checkVariableRest(name)
}

func checkVariableRest(name string) error {
	bad := strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r < 0x80
	})
	if bad >= 0 {
		return mongoerr.New(mongoerr.FailedToParse, "'%s' contains an invalid character for a variable name: '%c'", name, name[bad])
	}
	return nil
}
