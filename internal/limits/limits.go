package limits

// Documents and messages.
const (
	// DocumentBytes is the largest stored document (BSONObjMaxUserSize, maxBsonObjectSize in
	// hello).
	DocumentBytes = 16 << 20
	// InternalDocumentBytes is the largest document in a reply, or between two stages
	// (BSONObjMaxInternalSize). It leaves room for the fields that a reply adds to a stored
	// document.
	InternalDocumentBytes = DocumentBytes + 16<<10
	// MessageBytes is the largest message with its header (MaxMessageSizeBytes, maxMessageSizeBytes
	// in hello).
	MessageBytes = 48_000_000
	// DocumentDepth is the largest depth of a document in a message
	// (BSONDepth::kDefaultMaxAllowableDepth).
	DocumentDepth = 200
	// StoredDepth is the largest depth of a stored document (BSONDepth::getMaxDepthForUserStorage).
	StoredDepth = 180
	// ArrayPadding is the largest number of nulls that an update of an element adds to an array
	// (ArrayNode, kMaxPaddingAllowed).
	ArrayPadding = 1_500_000
)

// Names.
const (
	// DatabaseNameBytes is the longest name of a database (DatabaseName::kMaxDatabaseNameLength).
	DatabaseNameBytes = 63
	// NamespaceBytes is the longest name of a database and a collection with the dot between them
	// (NamespaceString::MaxUserNsCollectionLen).
	NamespaceBytes = 255
	// ClientMetadataBytes is the longest document with which a client introduces itself
	// (kMaxMongoDMetadataDocumentByteLength).
	ClientMetadataBytes = 512
	// AppNameBytes is the longest name of an application in the document with which a client
	// introduces itself (kMaxApplicationNameByteLength).
	AppNameBytes = 128
)

// TimeMillis is the largest maxTimeMS.
const TimeMillis = 1<<31 - 1

// Batches.
const (
	// WriteBatch is the largest number of statements or documents of one write command
	// (kMaxWriteBatchSize, maxWriteBatchSize in hello).
	WriteBatch = 100_000
	// FirstBatch is the number of documents in the first batch if the command does not set it
	// (query_request_helper::kDefaultBatchSize).
	FirstBatch = 101
	// BatchBytes is the largest total size of the documents in a batch
	// (FindCommon::kMaxBytesToReturnToClientAtOnce).
	BatchBytes = DocumentBytes
	// ErrorTextBytes is the total length of the messages of write errors after which further errors
	// of a reply have no message (kErrorSizeTruncationMin).
	ErrorTextBytes = 1 << 20
	// ErrorTexts is the number of write errors of a reply that have a message in any case
	// (kErrorCountTruncationMin).
	ErrorTexts = 2
	// SessionBatch is the largest number of sessions in one endSessions or refreshSessions command
	// (kMaxBatchSize).
	SessionBatch = 10_000
	// Sessions is the largest number of logical sessions at a time (maxSessions).
	Sessions = 1_000_000
)

// Collections and replica sets.
const (
	// CappedBytes is the largest size of a capped collection, 1 PiB.
	CappedBytes = 1 << 50
	// CappedDocuments is the largest number of documents of a capped collection (CollectionOptions,
	// the field max must be less than 2^31).
	CappedDocuments = 1<<31 - 1
	// ValidationInfoBytes is the largest errInfo of a document that fails validation
	// (kDefaultMaxDocValidationErrorSize).
	ValidationInfoBytes = 12 << 20
	// BucketSeconds is the longest span of a bucket of a time series, a year
	// (bucketMaxSpanSeconds).
	BucketSeconds = 31_536_000
	// Members is the largest number of members that a write concern or a commit quorum may require
	// (ReplSetConfig::kMaxMembers).
	Members = 50
	// ClockDriftSeconds is how far ahead of the server's clock a client may send a cluster time,
	// unless a parameter sets another limit (maxAcceptableLogicalClockDriftSecs).
	ClockDriftSeconds = 365 * 24 * 3600
)

// Indexes and sorts.
const (
	// Indexes is the largest number of indexes of a collection (kMaxNumIndexesAllowed).
	Indexes = 64
	// IndexFields is the largest number of fields of an index (Ordering::kMaxCompoundIndexKeys).
	IndexFields = 32
	// TextWeight is the largest weight of a field of a text index (MAX_WORD_WEIGHT).
	TextWeight = 99_999
	// TTLSeconds is the largest expireAfterSeconds of an index (manual, TTL indexes).
	TTLSeconds = 1<<31 - 1
	// PartialFilterDepth is the largest number of nested $and and $or in the filter of a partial
	// index (internalPartialFilterExpressionMaxDepth).
	PartialFilterDepth = 4
	// SortFields is the largest number of fields of a sort pattern
	// (Ordering::kMaxCompoundIndexKeys): the sort keys of documents are index keys.
	SortFields = 32
	// ExplodedScans is the largest number of scans that replace one index scan to provide a sort
	// (internalQueryMaxScansToExplode).
	ExplodedScans = 200
)

// Trials of candidate plans.
const (
	// TrialWorks is the largest number of works of a candidate (internalQueryPlanEvaluationWorks).
	TrialWorks = 10_000
	// TrialResults is the number of results at which a trial ends
	// (internalQueryPlanEvaluationMaxResults).
	TrialResults = 101
	// ReplanFactor limits a cached plan: after this many times the works of its trial, the other
	// candidates are tried again (internalQueryCacheEvictionRatio).
	ReplanFactor = 10
)

// Queries, expressions and pipelines.
const (
	// FilterDepth is the largest depth of the tree of a query predicate
	// (MatchExpression::kMaximumTreeDepth).
	FilterDepth = 100
	// PatternBytes is the longest pattern of a regular expression
	// (RegexMatchExpression::kMaxPatternSize).
	PatternBytes = 32_764
	// PatternGroupDepth is the largest number of nested groups of a pattern (PCRE2,
	// PARENS_NEST_LIMIT).
	PatternGroupDepth = 250
	// PatternCaptures is the largest number of groups that capture (PCRE2, MAX_GROUP_NUMBER).
	PatternCaptures = 65_535
	// GroupNameCharacters is the longest name of a group of a pattern (PCRE2, MAX_NAME_SIZE).
	GroupNameCharacters = 32
	// ExpressionDepth is the largest depth of an aggregation expression
	// (BSONDepth::getMaxAllowableDepth).
	ExpressionDepth = DocumentDepth
	// PathDepth is the largest number of components of a field path
	// (BSONDepth::getMaxAllowableDepth).
	PathDepth = DocumentDepth
	// ScriptDepth is the largest depth of a value that JavaScript returns (mozjs, kMaxDepth).
	ScriptDepth = 150
	// PipelineStages is the largest number of stages of a pipeline (internalPipelineLengthLimit).
	PipelineStages = 1000
	// SubPipelineDepth is the largest number of nested stages that contain a pipeline
	// (kMaxSubPipelineViewDepth). Views that these pipelines read count too.
	SubPipelineDepth = 20
	// ViewDepth is the largest number of views on top of each other (ViewGraph::kMaxViewDepth).
	ViewDepth = 20
	// BinSize is the largest binSize of $dateTrunc if the unit is a day or longer.
	BinSize = 100_000_000_000
	// Densified is the largest number of documents that one $densify generates
	// (internalQueryMaxAllowedDensifyDocs).
	Densified = 500_000
	// Consumers is the largest number of consumers of an exchange (Exchange::kMaxNumberConsumers).
	Consumers = 100
)

// Explain.
const (
	// ExplainTreeBytes is the largest size of one tree of stages that explain shows
	// (internalQueryExplainSizeThresholdBytes).
	ExplainTreeBytes = 10 << 20
	// ExplainBytes is the largest reply to which explain still adds a part that may be large. It
	// leaves room for the parts that are always short.
	ExplainBytes = DocumentBytes - 64<<10
)

// Memory.
const (
	// OperatorBytes is the memory limit of one blocking operator of a plan or of a stage, unless a
	// parameter sets another limit (internalQueryMaxBlockingSortMemoryUsageBytes,
	// internalDocumentSourceGroupMaxMemoryBytes and others).
	OperatorBytes = 100 << 20
	// ExpressionBytes is the largest size of an array or document in an expression, and the memory
	// limit of one accumulator (internalQueryMaxRangeBytes, internalQueryMaxPushBytes and others).
	ExpressionBytes = 100 << 20
	// RegexOutputBytes is the largest size of a result of $regexFindAll (BufferMaxSize).
	RegexOutputBytes = 64 << 20
	// ExchangeBytes is the largest buffer of an exchange (Exchange::kMaxBufferSize).
	ExchangeBytes = 100 << 20
)
