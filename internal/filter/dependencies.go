package filter

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// dependency is a requirement for documents that have a certain property: they must have other
// properties, or match a schema.
type dependency struct {
	path     *Path
	required []*Path
	schema   *schema // nil if other properties are required
}

func (d *dependency) match(doc bsonx.Doc, st *state) bool {
	if len(missingPaths([]*Path{d.path}, doc)) > 0 {
		return true
	}
	if d.schema != nil {
		return d.schema.match(bsonx.Document(doc), st)
	}
	return len(missingPaths(d.required, doc)) == 0
}

// dependenciesRule is the keyword dependencies.
type dependenciesRule struct{ dependencies []dependency }

func (r *dependenciesRule) match(v bsonx.Value, st *state) bool {
	if v.Type != bsonx.TypeDocument {
		return true
	}
	for i := range r.dependencies {
		if st.stopped(lookupWork(v.Doc())) || !r.dependencies[i].match(v.Doc(), st) {
			return false
		}
	}
	return true
}

func (r *dependenciesRule) explain(b *details, v bsonx.Value) {
	b.String("operatorName", "dependencies")
	b.StartArrayField("failingDependencies")
	for i := range r.dependencies {
		d := &r.dependencies[i]
		if d.match(v.Doc(), nil) {
			continue
		}
		b.StartDocElem()
		b.String("conditionalProperty", d.path.String())
		if d.schema != nil {
			d.schema.explain(b, "details", v)
		} else {
			appendNames(b, "missingProperties", missingPaths(d.required, v.Doc()))
		}
		b.End()
	}
	b.End()
}

func parseSchemaDependencies(sp *schemaParser, kw keyword) error {
	if kw.value.Type != bsonx.TypeDocument {
		return kw.mismatch("an object")
	}
	rule := &dependenciesRule{}
	for it := kw.value.Doc().Iter(); it.Next(); {
		name := string(it.Key())
		d := dependency{path: NewPath(name)}
		var err error
		switch it.Value().Type {
		case bsonx.TypeDocument:
			d.schema, err = sp.sub(it.Value(), sp.root)
		case bsonx.TypeArray:
			d.required, err = sp.dependentNames(name, it.Value().Doc())
		default:
			err = mongoerr.New(mongoerr.TypeMismatch,
				"property '%s' in $jsonSchema keyword 'dependencies' must be either an object or an array", name)
		}
		if err != nil {
			return err
		}
		rule.dependencies = append(rule.dependencies, d)
	}
	sp.add(rule)
	return nil
}

func (sp *schemaParser) dependentNames(name string, array bsonx.Doc) ([]*Path, error) {
	if array.IsEmpty() {
		return nil, mongoerr.New(mongoerr.FailedToParse,
			"property '%s' in $jsonSchema keyword 'dependencies' cannot be an empty array", name)
	}
	var paths []*Path
	seen := map[string]bool{}
	for it := array.Iter(); it.Next(); {
		if err := sp.p.node(); err != nil {
			return nil, err
		}
		if it.Value().Type != bsonx.TypeString {
			return nil, mongoerr.New(mongoerr.TypeMismatch,
				"array '%s' in $jsonSchema keyword 'dependencies' can only contain strings, but found element of type: %s",
				name, it.Value().Type)
		}
		dependent := it.Value().Str()
		if seen[dependent] {
			return nil, mongoerr.New(mongoerr.FailedToParse,
				"array '%s' in $jsonSchema keyword 'dependencies' contains duplicate element: %s", name, dependent)
		}
		seen[dependent] = true
		paths = append(paths, NewPath(dependent))
	}
	return paths, nil
}
