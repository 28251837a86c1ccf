package admin

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
)

// The commands of MongoDB 8.0 that Sheaf does not implement. Remove a name here when the command
// gets its own Definition.
var (
	knownNames = []string{
		// query plan cache, query settings
		"planCacheClearFilters", "planCacheSetFilter", "setQuerySettings", "removeQuerySettings",
		// users and roles
		"createUser", "updateUser", "dropUser", "dropAllUsersFromDatabase", "grantRolesToUser",
		"revokeRolesFromUser", "usersInfo",
		"createRole", "updateRole", "dropRole", "dropAllRolesFromDatabase", "grantPrivilegesToRole",
		"revokePrivilegesFromRole", "grantRolesToRole", "revokeRolesFromRole", "rolesInfo", "invalidateUserCache",
		"_mergeAuthzCollections",
		// transactions
		"prepareTransaction",
		// collections
		"compact", "autoCompact", "compactStructuredEncryptionData",
		"cleanupStructuredEncryptionData", "filemd5", "setIndexCommitQuorum",
		// administration
		"setUserWriteBlockMode", "rotateCertificates", "dropConnections",
		"getAuditConfig", "setAuditConfig", "logApplicationMessage",
		// diagnostics
		"dbHash", "driverOIDTest",
		// replication
		"applyOps",
	}

	// shardingNames are commands of mongos and config servers. A mongod replies CommandNotFound to
	// them.
	shardingNames = []string{
		"abortMoveCollection", "abortReshardCollection", "abortUnshardCollection", "addShard", "addShardToZone",
		"balancerCollectionStatus", "balancerStart", "balancerStatus", "balancerStop", "cleanupReshardCollection",
		"clearJumboFlag", "commitReshardCollection", "configureCollectionBalancing", "enableSharding",
		"listShards", "mergeAllChunksOnShard", "mergeChunks", "moveChunk", "moveCollection",
		"movePrimary", "moveRange", "refineCollectionShardKey", "removeShard",
		"removeShardFromZone", "reshardCollection",
		"setAllowMigrations", "setShardVersion", "shardCollection", "split",
		"transitionFromDedicatedConfigServer", "transitionToDedicatedConfigServer",
		"unshardCollection", "updateZoneKeyRange",
		"checkMetadataConsistency", "analyzeShardKey", "configureQueryAnalyzer", "shardConnPoolStats",
	}

	// passwordNames are the known commands whose arguments contain a password.
	passwordNames = []string{"createUser", "updateUser"}
)

// KnownCommands returns the commands that always fail: with NotImplemented if a mongod has them,
// and with CommandNotFound if only a mongos has them.
func KnownCommands() []command.Definition {
	var defs []command.Definition
	for _, name := range slices.Concat(knownNames, shardingNames) {
		d := command.Definition{
			Name: name, Status: feature.Known, Loose: true, Hidden: true, Read: true, Snapshot: true,
			Properties: command.Properties{
				Writes: feature.Yes, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
		}
		if slices.Contains(shardingNames, name) {
			d.Status = feature.Absent
		}
		if slices.Contains(passwordNames, name) {
			d.Secret = feature.Yes
		}
		defs = append(defs, d)
	}
	return defs
}
