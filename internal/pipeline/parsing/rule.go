package parsing

// Rule is a rule of the optimiser. A pipeline gives the same documents with it and without; what may differ is which
// errors are avoided because fewer documents reach a stage. What a stage computes of the documents that reach it is computed even
// where nobody reads it, unless it cannot fail.
type Rule uint16

// String returns the rule's name.
func (r Rule) String() string {
	for i, name := range ruleNames() {
		if r == 1<<i {
			return name
		}
	}
	return "rules"
}

// The rules, in the order in which they are applied.
const (
	// RuleNoop removes stages that change nothing.
	RuleNoop Rule = 1 << iota
	// RuleMoveMatch moves the predicates of a $match before the stages that do not change what they read.
	RuleMoveMatch
	// RuleMerge makes one of adjacent $match, $limit or $skip.
	RuleMerge
	// RuleSortFirst moves a $sort before a $unwind that does not change what it reads.
	RuleSortFirst
	// RuleLimitFirst moves $limit and $skip before stages that give one document for each, and copies
	// a $limit before a $unwind that gives at least one.
	RuleLimitFirst
	// RuleConstant lets a $match that nothing satisfies read nothing.
	RuleConstant
	// RuleTopK tells a $sort how many of its documents are read.
	RuleTopK
	// RuleFuse lets a $lookup take its array apart where the next stage does, and asks a $match behind that at once.
	RuleFuse
	// RuleAbsorb lets a $group compute what a stage before it computes for it.
	RuleAbsorb
	// RuleNarrow lets stages that copy documents leave out the fields that no later stage reads.
	RuleNarrow
	// RuleParallel lets several goroutines read a collection for a $group to which the order is nothing. It is applied by Run.
	RuleParallel
	// RuleOneOf tells the planner that a $group reads one document of each group. It is applied by OneOf.
	RuleOneOf

	// AllRules are all of them.
	AllRules Rule = 1<<iota - 1
)

// Rules lists the rules one by one.
func Rules() []Rule {
	var all []Rule
	for i := range ruleNames() {
		all = append(all, 1<<i)
	}
	return all
}

// ruleNames are the names of the rules, in the order of their bits.
func ruleNames() []string {
	return []string{
		"noop", "move match", "merge", "sort first", "limit first", "constant", "top k", "fuse", "absorb", "narrow",
		"parallel", "one of group",
	}
}
