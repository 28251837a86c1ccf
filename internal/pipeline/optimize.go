package pipeline

// rewriteRule rewrites steps; it returns the ones that it was given where it does not apply.
type rewriteRule struct {
	is    Rule
	name  string
	apply func(steps []step) []step
}

func rules() []rewriteRule {
	return []rewriteRule{
		{RuleNoop, "noop", removeNoops},
		{RuleMoveMatch, "move match", moveMatches},
		{RuleSortFirst, "sort first", moveSorts},
		{RuleLimitFirst, "limit first", moveLimits},
		{RuleMerge, "merge", mergeAdjacent},
		{RuleConstant, "constant", markConstants},
		{RuleTopK, "top k", limitSorts},
		{RuleFuse, "fuse", fuseLookups},
		{RuleAbsorb, "absorb", absorbProjects},
		{RuleNarrow, "narrow", narrowStages},
		{RuleParallel, "parallel", func(steps []step) []step { return steps }},
		{RuleOneOf, "one of group", func(steps []step) []step { return steps }},
	}
}

// optimize applies the rules that are not disabled. Steps and stages are not changed but replaced.
func optimize(steps []step, disabled Rule) []step {
	for _, rule := range rules() {
		if disabled&rule.is == 0 {
			steps = rule.apply(steps)
		}
		if rule.is == RuleMoveMatch { // behind it, because a $match may stand between a $unionWith and who reads the scores
			steps = uniteScores(steps)
		}
	}
	return steps
}
