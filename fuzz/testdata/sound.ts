export const name = 'sound'

export async function run(data: Buffer): Promise<void> {
  await Promise.resolve(data.length)
}
