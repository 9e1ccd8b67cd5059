import type { ClientFormat } from '#backends/llm/conversation.ts'
import type { BodyOperationKind, Operation, OperationSource } from './operation.ts'

/** An operation whose body is parsed in the pool. */
export class LargeOperation implements Operation {
  readonly client: ClientFormat
  readonly isStrict: boolean
  readonly name: string | null
  readonly listen: Operation['listen']
  readonly streamTap: Operation['streamTap']
  readonly source: OperationSource

  constructor(client: ClientFormat, { isStrict, name, listen, streamTap }: BodyOperationKind, source: OperationSource) {
    this.client = client
    this.isStrict = isStrict
    this.name = name
    this.listen = listen
    this.streamTap = streamTap
    this.source = source
  }
}
