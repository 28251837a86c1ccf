package parsing

// Rule is a rule of the optimiser, or a set of rules. A pipeline gives the same documents with and
// without a rule. A rule may prevent errors, because fewer documents reach a stage. But for a
// document that reaches a stage, the stage evaluates every expression that may fail, even if later
// stages do not read the result.
type Rule uint16

// String returns the name of the rule, or "rules" for a set.
func (r Rule) String() string {
	for i, name := range ruleNames() {
		if r == 1<<i {
			return name
		}
	}
	return "rules"
}

// The rules. optimize applies them in its own order, except those that Run and OneOf apply.
const (
	// RuleNoop removes stages that change nothing.
	RuleNoop Rule = 1 << iota
	// RuleMoveMatch moves predicates of $match before stages that do not change the fields that
	// they read.
	RuleMoveMatch
	// RuleMerge merges adjacent $match, $limit or $skip stages.
	RuleMerge
	// RuleSortFirst moves a $sort before an $unwind that does not change its sort keys.
	RuleSortFirst
	// RuleLimitFirst moves $limit and $skip before stages that are one-to-one. It copies a $limit
	// before an $unwind that yields at least one document per input document.
	RuleLimitFirst
	// RuleConstant prevents a $match that no document can satisfy from reading its input.
	RuleConstant
	// RuleTopK tells a $sort how many of its documents the following stages read.
	RuleTopK
	// RuleFuse merges a $lookup with a following $unwind of its array, and with predicates of a
	// $match after that.
	RuleFuse
	// RuleAbsorb merges a projection into the $group that reads its computed fields.
	RuleAbsorb
	// RuleNarrow lets stages that copy documents leave out the fields that later stages do not
	// read.
	RuleNarrow
	// RuleParallel lets several goroutines read a collection for a $group whose result does not
	// depend on the order. Run applies it.
	RuleParallel
	// RuleOneOf tells the planner that a $group reads only one document of each group. OneOf
	// applies it.
	RuleOneOf

	// AllRules is the set of all rules.
	AllRules Rule = 1<<iota - 1
)

// Rules returns the rules as a list.
func Rules() []Rule {
	var all []Rule
	for i := range ruleNames() {
		all = append(all, 1<<i)
	}
	return all
}

// ruleNames returns the names of the rules, in the order of their bits.
func ruleNames() []string {
	return []string{
		"noop", "move match", "merge", "sort first", "limit first", "constant", "top k", "fuse", "absorb", "narrow",
		"parallel", "one of group",
	}
}
