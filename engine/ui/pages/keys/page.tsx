/** Keys of clients and their budgets: /ui/keys, and /ui/keys/NAME for one of them. */
import { place } from '#engine/ui/app/router.ts'
import { KeyDetail } from './detail.tsx'
import { KeyList } from './list.tsx'

export default function Keys() {
  const [, name] = place.value.parts
  return name === undefined ? <KeyList /> : <KeyDetail key={name} name={name} />
}
