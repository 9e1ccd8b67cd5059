/** What statuses are made of. */
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import type { TranslatedGateway, TranslatedRoute } from '#engine/kubernetes/translation/translated.ts'

export interface StatusInputs {
  readonly gateways: readonly TranslatedGateway[]
  /** Those with parents of this controller. */
  readonly routes: ReadonlyMap<ObjectKey, TranslatedRoute>
  /** Which of them are others than before; null: all may be. */
  readonly changed: ReadonlySet<ObjectKey> | null
  readonly objects: Objects
  /** Of the objects that have changed; null: all may have. */
  readonly keys: readonly ObjectKey[] | null
  /** What compiling has found beside that, as in backends that no route leads to. */
  readonly others: readonly Fault[]
}
