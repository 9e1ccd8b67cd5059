export const name = 'hanging'

export function run(data: Buffer): void {
  while (data.includes('stop'));
}
