/**
 * Operations of OpenAI and servers with its paths: there the request goes on as it came, but for the name of the model,
 * and so does the answer, of which is read what it has cost. Vendors with other words have them in media-wires.ts.
 */
import { operationFormat } from '#backends/llm/capabilities.ts'
import type { FormatName, Json, JsonObject } from '#backends/llm/conversation.ts'
import { Fields } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { requestReach } from '#backends/llm/formats/guarded-texts.ts'
import type { ToleratedFields } from '#backends/llm/formats/tolerated.ts'
import { lossPath } from '#backends/llm/formats/unknown-fields.ts'
import type { ResolvedProvider } from '#backends/llm/plan/request-plan.ts'
import type { Operation as Capability, Wire } from '#backends/llm/providers/provider.ts'
import { wireOf } from '#backends/llm/providers/services.ts'
import { modelOf, parseBody } from '#backends/llm/request/json-body.ts'
import { type Form, readForm, singleText, withFields } from '#backends/llm/request/multipart.ts'
import { providerModel } from '#backends/llm/request/provider-request.ts'
import { fieldsAhead } from '#backends/llm/uploads/form-needs.ts'
import type { Units } from '#engine/prices/cost.ts'
import type { AnswerSpec, BodyOperationType } from './answer-spec.ts'
import { type MediaWire, mediaWire } from './media-wires.ts'
import {
  type BodyOperationKind,
  besideChat,
  type ExpectedCost,
  type OperationCost,
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
  /** Where the provider speaks Gemini's format. Absent: it has no such thing there. */
  readonly gemini?: Wire
  /** Fields that a provider with other words need not get. */
  readonly tolerated?: ToleratedFields
}

type CallPlan = Pick<OperationPlan, 'model' | 'providerFormat' | 'settings' | 'expects'> & { readonly model: string }

export interface MediaAnswerSpec extends AnswerSpec {
  readonly of: BodyOperationType
  readonly wire: Wire
  /** What the client gets, by the word of the wire. */
  readonly form: string
  /** Beside tokens: it holds where the answer says nothing. */
  readonly units: Units | null
}

export function openaiCall(call: OpenaiCall): BodyOperationKind<MediaAnswerSpec> {
  const { type, end, takes, name, guarded, cost, outputType, reads = [] } = call
  const needs = takes === 'form' ? fieldsAhead('model', reads) : null
  return {
    type,
    pathEnds: [end],
    isStrict: true,
    name,
    tolerated: call.tolerated ?? {},
    client: () => 'completions',
    guarded: () => (guarded === null ? null : requestReach(guarded, [])),
    hidesAnswer: outputType === 'image' || outputType === 'speech',
    formNeeds: () => needs,
    read: (source) => (takes === 'form' ? new FormCall(call, source) : new JsonCall(call, source)),
    costIn: mediaCost,
    answer: (spec, body) => mediaWire(spec.wire)!.answer(Fields.of(body, ''), spec.form),
    ...(cost === undefined ? {} : { listen: (ex, sent) => new PassingAnswer(ex, sent, cost) })
  }
}

/** Of an answer in other words than OpenAI's. */
function mediaCost({ wire, units }: MediaAnswerSpec, body: Json): OperationCost {
  const usage = mediaWire(wire)!.usage(Fields.of(body, ''))
  return { usage, model: null, ...(usage === null && units !== null ? { units } : {}) }
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
    const { capability, end, outputType, expects, gemini } = this.#call
    const model = providerModel(this.model, to.settings.model, to.aliases)
    // Its own clients speak no other.
    const providerFormat: FormatName = operationFormat(capability, to, model, 'completions')
    const common = {
      model,
      providerFormat,
      ...(outputType === undefined ? {} : { settings: { outputType } }),
      ...(expects === undefined ? {} : { expects: expects(this.fields) })
    }
    const wire = (providerFormat === 'gemini' ? gemini : wireOf(to, capability, model)) ?? null
    const own = mediaWire(wire)
    if (own !== null) return this.#converted(own, wire!, to, common)
    return {
      ...common,
      body: model === this.model ? null : this.renamed(model),
      isNative: true,
      target: besideChat(to, providerFormat, model, end),
      lost: [],
      answerSpec: null
    }
  }

  #converted(own: MediaWire, wire: Wire, to: ResolvedProvider, common: CallPlan): OperationPlan {
    const { model, providerFormat, expects } = common
    const fields = new Fields(this.json(), '')
    const form = formOf(fields, own)
    fields.any('model')
    const { body, lost } = own.write(fields, form, model)
    const unknown = new Map<string, Json>()
    fields.leaveUnknown(unknown)
    const units = expects?.units ?? null
    const answerSpec: MediaAnswerSpec = { of: this.#call.type, client: 'completions', wire, form, units }
    const target = besideChat(to, providerFormat, model, own.end)
    return {
      ...common,
      body,
      isNative: false,
      target,
      lost: [...lost, ...[...unknown.keys()].map(lossPath)],
      answerSpec
    }
  }

  /** Throws FormatError where it is no JSON. */
  protected abstract json(): JsonObject

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

  protected json(): JsonObject {
    return this.#body
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

  protected json(): JsonObject {
    throw new FormatError('', 'a form cannot be carried to this provider')
  }
}

/** What the answer is to be. Throws FormatError. */
function formOf(fields: Fields, { form, forms }: MediaWire): string {
  const word = fields.optionalString(form) ?? forms[0]!
  if (!forms.includes(word)) throw new FormatError(form, `must be ${forms.join(' or ')} for this provider`)
  return word
}

/** Some servers take numbers as texts, in JSON too. Null: it is no number. */
function numberOf(value: number | string | null): number | null {
  const number = value === null || value === '' ? Number.NaN : Number(value)
  return Number.isFinite(number) ? number : null
}
