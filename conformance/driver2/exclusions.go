package driver2

// exclusion is a test of the driver that is left out. The name has the form that `go test -v`
// prints, with slashes between its parts.
type exclusion struct {
	test   string
	reason string
}

// These are the reasons for exclusions. A number is the issue in the tracker that will make the
// test pass.
const (
	threeMembers = "needs a replica set of three members (issue 11)"
	noSecondary  = "selects a secondary, which a set of one member does not have (issue 11)"
	mongocryptd  = "needs mongocryptd, which the free server does not come with"
)

// exclusions lists all excluded tests.
func exclusions() []exclusion {
	unified := "TestUnifiedSpec/"
	return []exclusion{
		{unified + "server-selection/tests/logging/replica-set.json", threeMembers},
		{unified + "server-discovery-and-monitoring/tests/unified/logging-replicaset.json/Topology_lifecycle", threeMembers},
		{unified + "server-discovery-and-monitoring/tests/unified/logging-replicaset.json/Successful_heartbeat", threeMembers},
		{unified + "server-discovery-and-monitoring/tests/unified/replicaset-emit-topology-changed-before-close.json", threeMembers},
		{unified + "transactions/tests/unified/read-pref.json/secondary_readPreference", noSecondary},
		{unified + "transactions/tests/unified/transaction-options.json/readPreference_inherited_from_client", noSecondary},
		{unified + "transactions/tests/unified/transaction-options.json/readPreference_inherited_from_defaultTransactionOptions", noSecondary},
		{unified + "transactions/tests/unified/transaction-options.json/startTransaction_overrides_readPreference", noSecondary},
		{"TestRetryableReadsProse/retrying_reads_in_a_replica_set/overload_errors_retried_on_a_different_replicaset_server", noSecondary},
		{"TestSessionsMongocryptdProse", mongocryptd},
		{"TestInitialDNSSeedlistDiscoverySpec/replica_set/txt-record-with-overridden-ssl-option.json", threeMembers},
	}
}

// slow lists the tests that a quick run leaves out.
func slow() []exclusion {
	return []exclusion{{"TestClientStress", "loads the server for a minute"}}
}

// waiting lists tests of waitingPackage that wait for the driver's heartbeat many times. By
// default, the heartbeat comes every 10 s. The listed tests run separately with a shorter interval,
// because other tests count the messages of the heartbeat.
func waiting() []string {
	return []string{
		"TestErrorPropagationAfterEncounteringMultipleErrors", "TestRetryableReadsProse",
		"TestClientBulkWriteProse/5._MongoClient.bulkWrite_collects_WriteConcernErrors_across_batches",
	}
}

const (
	waitingPackage = "internal/integration"
	shortHeartbeat = "&heartbeatFrequencyMS=500"
)
