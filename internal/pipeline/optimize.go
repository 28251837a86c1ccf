package pipeline

// rewriteRule rewrites steps; it returns the ones that it was given where it does not apply.
type rewriteRule struct {
	is    Rule
	apply func(steps []step) []step
}

func rules() []rewriteRule {
	return []rewriteRule{
		{RuleNoop, removeNoops},
		{RuleMoveMatch, moveMatches},
		{RuleSortFirst, moveSorts},
		{RuleLimitFirst, moveLimits},
		{RuleMerge, mergeAdjacent},
		{RuleConstant, markConstants},
		{RuleTopK, limitSorts},
		{RuleFuse, fuseLookups},
		{RuleAbsorb, absorbProjects},
		{RuleNarrow, narrowStages},
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
