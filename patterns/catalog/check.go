package catalog

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns"
)

// These are the rules whose violations Check lists.
const (
	RuleRoot    = "every product has the fields that all types have"
	RulePricing = "savings follow from the list price and the retail price"
	RuleType    = "every product is of a declared type"
	RuleDetails = "details are valid for their type"
	RuleRule    = "price rules make sense"
)

// rootFields returns the fields that all products have.
func rootFields() []string {
	return []string{"type", "title", "description", "asin", "shipping", "pricing", "details", "rev"}
}

// Check reads all products and price rules and lists the violations of the rules of this package
// and of package schema. It checks products of older versions in their current version.
func (c *Catalog) Check(ctx context.Context) ([]patterns.Violation, error) {
	out, err := c.schema.Check(ctx)
	if err != nil {
		return nil, err
	}
	cur, err := c.products.Find(ctx, bson.D{})
	if err != nil {
		return nil, fmt.Errorf("catalog: check: %w", err)
	}
	defer func() { _ = cur.Close(ctx) }()
	for cur.Next(ctx) {
		doc, _, err := c.schema.Upgrade(append(bson.Raw(nil), cur.Current...))
		if err == nil { // otherwise schema.Check has listed the product
			out = append(out, c.checkProduct(doc)...)
		}
	}
	if err := cur.Err(); err != nil {
		return nil, fmt.Errorf("catalog: check: %w", err)
	}
	rules, err := c.checkRules(ctx)
	return append(out, rules...), err
}

func (c *Catalog) checkProduct(doc bson.Raw) (out []patterns.Violation) {
	violate := func(rule, format string, args ...any) {
		v := patterns.Violation{
			Rule: rule, Collection: c.products.Name(), ID: doc.Lookup("_id"),
			Detail: fmt.Sprintf(format, args...),
		}
		out = append(out, v)
	}
	for _, f := range rootFields() {
		if _, err := doc.LookupErr(f); err != nil {
			violate(RuleRoot, "there is no %s", f)
		}
	}
	var p struct{ Pricing Pricing }
	if err := bson.Unmarshal(doc, &p); err != nil {
		violate(RulePricing, "%v", err)
	} else if want, err := NewPricing(p.Pricing.List, p.Pricing.Retail); err != nil || want != p.Pricing {
		violate(RulePricing, "%+v, and not %+v", p.Pricing, want)
	}
	name, _ := doc.Lookup("type").StringValueOK()
	if err := c.known(name); err != nil {
		violate(RuleType, "%v", err)
		return out
	}
	if t, ok := c.types[name]; ok {
		if err := t.validate(doc.Lookup("details")); err != nil {
			violate(RuleDetails, "%v", err)
		}
	}
	return out
}

func (c *Catalog) checkRules(ctx context.Context) (out []patterns.Violation, err error) {
	cur, err := c.rules.Find(ctx, bson.D{})
	if err != nil {
		return nil, fmt.Errorf("catalog: check the price rules: %w", err)
	}
	var rules []Rule
	if err := cur.All(ctx, &rules); err != nil {
		return nil, fmt.Errorf("catalog: check the price rules: %w", err)
	}
	for _, r := range rules {
		if !r.valid() {
			out = append(out, patterns.Violation{
				Rule: RuleRule, Collection: c.rules.Name(), ID: r.Name,
				Detail: fmt.Sprintf("%+v", r),
			})
		}
	}
	return out, nil
}
