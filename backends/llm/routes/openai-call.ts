/**
 * Operations that only OpenAI and servers with its paths have: the request goes on as it came, but for the name of the
 * model, and so does the answer, of which is read what it has cost.
 */
import { operationFormat } from '#backends/llm/capabilities.ts'
import type { FormatName, JsonObject } from '#backends/llm/conversation.ts'
import { requestReach } from '#backends/llm/formats/guarded-texts.ts'
import type { ResolvedProvider } from '#backends/llm/plan/request-plan.ts'
import type { Operation as Capability } from '#backends/llm/providers/provider.ts'
import { modelOf, parseBody } from '#backends/llm/request/json-body.ts'
import { type Form, readForm, singleText, withFields } from '#backends/llm/request/multipart.ts'
import { providerModel } from '#backends/llm/request/provider-request.ts'
import { fieldsAhead } from '#backends/llm/uploads/form-needs.ts'
import type { BodyOperationType } from './answer-spec.ts'
import {
  type BodyOperationKind,
  besideChat,
  type ExpectedCost,
  type OperationPlan,
  type OperationSource,
  type ReadOperation
} from './operation.ts'
import { PassingAnswer, type ReadCost } from './passing-answer.ts'

/** What a request asks: a text of a field, or a number, of JSON or of a form. */
export interface CallFields {
  readonly bytesLength: number
  text(name: string): string | null
  number(name: string): number | null
}

export interface OpenaiCall {
  readonly type: BodyOperationType
  /** Of the path: behind "/v1". */
  readonly end: string
  readonly takes: 'json' | 'form'
  /** gen_ai.operation.name; null: it costs nothing. */
  readonly name: string | null
  readonly capability: Capability
  /** Fields of a form that are read, beside the model. */
  readonly reads?: readonly string[]
  /** gen_ai.output.type. */
  readonly outputType?: string
  /** Fields with texts for guards. Null: they are none. */
  readonly guarded: readonly string[] | null
  /** Absent: as of chat. Throws FormatError. */
  expects?(fields: CallFields): ExpectedCost
  /** Absent: it costs nothing. */
  readonly cost?: ReadCost
}

export function openaiCall(call: OpenaiCall): BodyOperationKind {
  const { type, end, takes, name, guarded, cost, outputType, reads = [] } = call
  const needs = takes === 'form' ? fieldsAhead('model', reads) : null
  return {
    type,
    pathEnds: [end],
    isStrict: true,
    name,
    tolerated: {},
    client: () => 'completions',
    guarded: () => (guarded === null ? null : requestReach(guarded, [])),
    hidesAnswer: outputType === 'image' || outputType === 'speech',
    formNeeds: () => needs,
    read: (source) => (takes === 'form' ? new FormCall(call, source) : new JsonCall(call, source)),
    ...(cost === undefined ? {} : { listen: (ex, sent) => new PassingAnswer(ex, sent, cost) })
  }
}

abstract class Call implements ReadOperation {
  readonly #call: OpenaiCall
  /** By the client's name, "" when it names none. */
  protected abstract readonly model: string
  protected abstract readonly fields: CallFields

  constructor(call: OpenaiCall) {
    this.#call = call
  }

  plan(to: ResolvedProvider): OperationPlan {
    const { capability, end, outputType, expects } = this.#call
    const model = providerModel(this.model, to.settings.model, to.aliases)
    // Its own clients speak no other.
    const providerFormat: FormatName = operationFormat(capability, to, model, 'completions')
    return {
      body: model === this.model ? null : this.renamed(model),
      model,
      providerFormat,
      isNative: true,
      target: besideChat(to, providerFormat, model, end),
      lost: [],
      answerSpec: null,
      ...(outputType === undefined ? {} : { settings: { outputType } }),
      ...(expects === undefined ? {} : { expects: expects(this.fields) })
    }
  }

  protected abstract renamed(model: string): JsonObject | Buffer
}

class JsonCall extends Call {
  protected readonly model: string
  readonly #body: JsonObject
  readonly #length: number

  /** Throws FormatError. */
  constructor(call: OpenaiCall, { bytes }: OperationSource) {
    super(call)
    this.#body = parseBody(bytes)
    this.#length = bytes.length
    this.model = modelOf(this.#body)
  }

  protected get fields(): CallFields {
    const text = (name: string) => {
      const value = this.#body[name]
      return typeof value === 'string' ? value : null
    }
    const number = (name: string) => {
      const value = this.#body[name]
      return numberOf(typeof value === 'number' ? value : text(name))
    }
    return { bytesLength: this.#length, text, number }
  }

  protected renamed(model: string): JsonObject {
    return { ...this.#body, model }
  }
}

class FormCall extends Call {
  protected readonly model: string
  readonly #form: Form
  readonly #length: number

  /** Throws FormatError. */
  constructor(call: OpenaiCall, { bytes, contentType, passing = null }: OperationSource) {
    super(call)
    this.#form = passing?.form ?? readForm(bytes, contentType)
    this.#length = passing?.bytesLength ?? bytes.length
    this.model = singleText(this.#form, 'model') ?? ''
  }

  protected get fields(): CallFields {
    const text = (name: string) => singleText(this.#form, name)
    const number = (name: string) => numberOf(text(name))
    return { bytesLength: this.#length, text, number }
  }

  protected renamed(model: string): Buffer {
    return withFields(this.#form, new Map([['model', model]]))
  }
}

/** Some servers take numbers as texts, in JSON too. Null: it is no number. */
function numberOf(value: number | string | null): number | null {
  const number = value === null || value === '' ? Number.NaN : Number(value)
  return Number.isFinite(number) ? number : null
}
