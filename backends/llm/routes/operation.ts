/** Requests that are no chat: what a provider is sent for one, and what the client gets of its answer. */
import type { ClientFormat, FormatName, Json, JsonObject, Usage } from '#backends/llm/conversation.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { ToleratedFields } from '#backends/llm/formats/tolerated.ts'
import type { ProviderRuntime } from '#backends/llm/plan/provider-runtime.ts'
import type { ResolvedProvider } from '#backends/llm/plan/request-plan.ts'
import { withPathPrefix } from '#backends/llm/request/provider-request.ts'
import type { StoredTask } from '#backends/llm/stored/jobs.ts'
import type { WrittenStored } from '#backends/llm/stored/request.ts'
import type { KeptIds, StoredSettings } from '#backends/llm/stored/stores.ts'
import type { AskPage } from '#backends/llm/stored/tenant-list.ts'
import type { CostTap } from '#backends/llm/stream/cost-tap.ts'
import type { DroppedFields } from '#backends/llm/translate/dropped-fields.ts'
import type { FormNeeds } from '#backends/llm/uploads/form-needs.ts'
import type { PassingForm } from '#backends/llm/uploads/passing-form.ts'
import type { Exchange, ResponseTap } from '#engine/contract/exchange.ts'
import type { RequestSettings } from '#engine/contract/model-use.ts'
import type { Reach } from '#engine/kit/scan/body.ts'
import type { Units } from '#engine/prices/cost.ts'
import type { AnswerSpec, BodyOperationType, OperationType } from './answer-spec.ts'
import type { MediaBytes } from './media-wires.ts'

/** What a provider has been asked, as far as others need to know. Plain data. */
export interface SentOperation {
  /** Fields that the provider has not got. */
  readonly lost: DroppedFields
  /** By the provider's name; null: the client names none. */
  readonly model: string | null
  /** What it words its errors in. */
  readonly providerFormat: FormatName
  /** It speaks as the client does: its answer goes on as it comes. */
  readonly isNative: boolean
  /** How its answer is read; null: it is not looked at. */
  readonly answerSpec: AnswerSpec | null
  /** Absent: it has none. */
  readonly settings?: RequestSettings
  /** What it may cost. Absent: a token for each byte of the request, and none for the answer. */
  readonly expects?: ExpectedCost
}

/** What a request says of its cost. */
export interface ExpectedCost {
  /** At most. */
  readonly inputTokens: number
  readonly outputTokens: number
  /** Beside tokens, such as the text that is to be spoken: it holds where the answer says nothing. */
  readonly units?: Units
  /** Beside tokens, at most, where only the answer can say it. */
  readonly unitsMax?: Units
}

/** What the client gets instead. */
export type FinishedAnswer = { readonly bytes: Buffer } | { readonly status: 502 | 503; readonly message: string }

/** `ask`: the same server for the same path, by another query. Null: the answer goes on as usual. Never rejects. */
export type FinishAnswer = (ex: Exchange, bytes: Buffer, ask: AskPage) => Promise<FinishedAnswer | null>

/** A kind of request. */
export interface Operation {
  /** Of errors for the client. */
  readonly client: ClientFormat
  /** A request with a field that the provider lacks is refused. */
  readonly isStrict: boolean
  /** gen_ai.operation.name; null: the conventions have none. */
  readonly name: string | null
  /**
   * Hears what the provider sends, without changing it: over an upgraded connection, or as the answer of success of one
   * that speaks as the client does.
   */
  readonly listen?: ((ex: Exchange, sent: SentOperation) => ResponseTap) | undefined
  /** Who may be asked, where that is decided by what is kept. */
  readonly kept?: KeptIds
  /** The head of an answer has come. */
  headAnswered?(ex: Exchange): void
  /**
   * Does what else is to be done with a whole answer of success before the client gets it; absent: nothing. Not told of
   * streams and contents.
   */
  readonly finish?: FinishAnswer | undefined
  /** Translates an answer of success that comes as events; null: it comes whole. Absent: all do. */
  readonly streamTap?: ((ex: Exchange, sent: SentOperation) => CostTap | null) | undefined
}

/** What is written in another thread. */
export interface LaterWriting {
  /** Throws FormatError. */
  task(ex: Exchange, to: ProviderRuntime): StoredTask
  /** Makes ex the request for `to`. */
  apply(ex: Exchange, to: ProviderRuntime, written: WrittenStored): SentOperation
}

/** Of one exchange, for all its attempts. */
export interface ActiveOperation extends Operation {
  /** Makes ex the request for `to`. Throws FormatError. */
  write(ex: Exchange, to: ResolvedProvider): SentOperation
  /** Instead of `write`, where another thread does it; null or absent: this one does. */
  readonly later?: LaterWriting | null
}

/** The request as it came. */
export interface OperationSource {
  readonly type: BodyOperationType
  readonly bytes: Buffer
  /** "" where the client says none. */
  readonly contentType: string
  readonly path: string
  readonly query: string
  /** The body is a form that goes on while it comes: `bytes` are its beginning. Not for other threads. */
  readonly passing?: PassingForm | null
}

/** What one provider is sent. */
export interface OperationPlan extends Omit<SentOperation, 'lost'> {
  /** Fields that the provider does not get. */
  readonly lost: readonly string[]
  /** JSON, or a form (request/multipart.ts) with the boundary of the client's. Null: the client's own bytes will do. */
  readonly body: JsonObject | Buffer | null
  /** Path, and query where the API needs one. */
  readonly target: string
}

/** A request that has been read. */
export interface ReadOperation {
  /** Throws FormatError when this provider cannot be asked. */
  plan(to: ResolvedProvider): OperationPlan
}

/** What an answer has cost; each null where it does not say. */
export interface OperationCost {
  readonly usage: Usage | null
  /** By the provider's name. */
  readonly model: string | null
  /** What is counted beside tokens; absent: nothing is. */
  readonly units?: Units
}

/** What is known of an operation ahead of any request for it: a line of routes/operations.ts. */
interface AnyOperationKind<Spec extends AnswerSpec>
  extends Pick<Operation, 'isStrict' | 'name' | 'listen' | 'streamTap'> {
  /** Its name in `routes`. */
  readonly type: OperationType
  /** Of paths: `llm` serves it there. */
  readonly pathEnds: readonly string[]
  /** Whether `path`, which goes on behind one of those ends, is still its. Absent: none is. */
  goesOn?(path: string): boolean
  /** The format of errors for the client of `ex`. */
  client(ex: Pick<Exchange, 'path' | 'request'>): ClientFormat
  /**
   * What guards search in a request of a client of that format; 'nothing': there is no text in it. Null: guards could
   * not see what is in it, and nothing of it passes them.
   */
  guarded(client: ClientFormat): Reach | 'nothing' | null
  /** Its answers say something in pictures or sound: guards of answers could not see it, and nothing passes them. */
  readonly hidesAnswer?: boolean
  /** Of a whole answer of success; absent: it costs nothing. Throws FormatError. */
  costIn?(spec: Spec, body: Json): OperationCost
  /** Whether a request is about what a provider keeps: the account of that is asked, whatever the model. */
  isKept?(ex: Exchange): boolean
  /** What has to be known of a long form ahead of its end; null or absent: it is kept whole. */
  formNeeds?(ex: Exchange): FormNeeds | null
  /** The body is a piece of a file: nothing in it is read. */
  isPiece?(ex: Exchange): boolean
  /** Requests name what is kept as chats do: ids in their bodies are opened ahead. */
  readonly refers?: true
  /** An answer is written anew for a client of the same format, too: what it says is not what the client gets. */
  readonly rewrites?: true
  /**
   * A whole answer of success for a client of another format; absent: all providers speak as the client does.
   * `counted`: what is known of its tokens, also where a field of the header says them.
   */
  answer?(spec: Spec, body: Json, counted: Usage | null): JsonObject | MediaBytes
}

/** With a body that is read, in another thread where it is large. */
export interface BodyOperationKind<Spec extends AnswerSpec = AnswerSpec> extends AnyOperationKind<Spec> {
  readonly type: BodyOperationType
  /** Fields that a provider need not get, by their paths. */
  readonly tolerated: ToleratedFields
  /** Throws FormatError. */
  read(source: OperationSource): ReadOperation
}

/** All of it is in the head of the request. */
export interface HeadOperationKind<Spec extends AnswerSpec = AnswerSpec> extends AnyOperationKind<Spec> {
  readonly type: Exclude<OperationType, BodyOperationType>
  /** Throws FormatError. */
  begin(ex: Exchange, stored: () => StoredSettings): ActiveOperation
  /** The model that is asked for, "" where none is. Absent: as usual, in the path or in the body. */
  modelOf?(ex: Exchange): string
}

export type OperationKind = BodyOperationKind | HeadOperationKind

/**
 * Where the API with `end` is, for a provider whose chat of `format` is known. Throws FormatError when it is not
 * beside that.
 */
export function besideChat(
  { settings, provider }: ResolvedProvider,
  format: FormatName,
  model: string,
  end: string
): string {
  const chat = settings.path ?? withPathPrefix(provider.target(format, model, false), settings.pathPrefix)
  const pattern = provider.chatEnd ?? FORMATS[format].chatEnd
  if (pattern.test(chat)) return chat.replace(pattern, () => end)
  // A path that is given and is none of chat is meant for whatever comes.
  if (settings.path !== null || provider.hasOnePath === true) return chat
  throw new FormatError('', `${provider.name} has no such API`)
}
