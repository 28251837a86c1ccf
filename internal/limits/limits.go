package limits

// Documents and messages.
const (
	// DocumentBytes is the largest stored document (BSONObjMaxUserSize, maxBsonObjectSize in
	// hello).
	DocumentBytes = 16 << 20
	// InternalDocumentBytes is the largest document in a reply, or between two stages
	// (BSONObjMaxInternalSize). The room is for what a reply adds to a stored document.
	InternalDocumentBytes = DocumentBytes + 16<<10
	// MessageBytes is the largest message with its header (MaxMessageSizeBytes, maxMessageSizeBytes
	// in hello).
	MessageBytes = 48_000_000
	// DocumentDepth is the deepest document in a message (BSONDepth::kDefaultMaxAllowableDepth).
	DocumentDepth = 200
	// StoredDepth is the deepest stored document (BSONDepth::getMaxDepthForUserStorage).
	StoredDepth = 180
	// ArrayPadding is the most nulls by which an update of an element lengthens an array
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
	// AppNameBytes is the longest name of an application in there
	// (kMaxApplicationNameByteLength).
	AppNameBytes = 128
)

// Batches.
const (
	// WriteBatch is the most statements or documents of one write command (kMaxWriteBatchSize,
	// maxWriteBatchSize in hello).
	WriteBatch = 100_000
	// FirstBatch is how many documents the first batch has if the command does not say
	// (query_request_helper::kDefaultBatchSize).
	FirstBatch = 101
	// BatchBytes is how many bytes of documents a batch has at most
	// (FindCommon::kMaxBytesToReturnToClientAtOnce).
	BatchBytes = DocumentBytes
	// SessionBatch is the most sessions that one endSessions or refreshSessions command names
	// (kMaxBatchSize).
	SessionBatch = 10_000
	// Sessions is the most logical sessions at a time (maxSessions).
	Sessions = 1_000_000
)

// Indexes and sorts.
const (
	// Indexes is the most indexes of a collection (kMaxNumIndexesAllowed).
	Indexes = 64
	// IndexFields is the most fields of an index (Ordering::kMaxCompoundIndexKeys).
	IndexFields = 32
	// SortFields is the most fields of a sort pattern, for the same reason.
	SortFields = 32
)

// Queries, expressions and pipelines.
const (
	// FilterDepth is the deepest tree of a query predicate (MatchExpression::kMaximumTreeDepth).
	FilterDepth = 100
	// ExpressionDepth is the deepest aggregation expression (BSONDepth::getMaxAllowableDepth).
	ExpressionDepth = DocumentDepth
	// PathDepth is the most components of a field path (BSONDepth::getMaxAllowableDepth).
	PathDepth = DocumentDepth
	// ScriptDepth is the deepest value that JavaScript returns (mozjs, kMaxDepth).
	ScriptDepth = 150
	// PipelineStages is the most stages of a pipeline (internalPipelineLengthLimit).
	PipelineStages = 1000
	// SubPipelineDepth is the most stages with a pipeline of their own inside each other
	// (kMaxSubPipelineViewDepth). The pipelines of views that they read count too.
	SubPipelineDepth = 20
	// ViewDepth is the most views on top of each other (ViewGraph::kMaxViewDepth).
	ViewDepth = 20
)

// Memory.
const (
	// OperatorBytes is what one blocking operator of a plan or a stage keeps in memory if no
	// parameter says otherwise (internalQueryMaxBlockingSortMemoryUsageBytes,
	// internalDocumentSourceGroupMaxMemoryBytes and others).
	OperatorBytes = 100 << 20
	// ExpressionBytes is the largest array or document within an expression, and what one
	// accumulator keeps (internalQueryMaxRangeBytes, internalQueryMaxPushBytes and others).
	ExpressionBytes = 100 << 20
)
