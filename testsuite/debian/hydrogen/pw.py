# A chain of hydrogen in plane waves, its k-points shared among pairs of ranks.
from ase import Atoms
from gpaw import GPAW, PW
from gpaw.mpi import world

chain = Atoms('H2', [(2, 2, 0), (2, 2, 0.9)], cell=(4, 4, 2), pbc=True)
chain.calc = GPAW(mode=PW(200), kpts=(1, 1, 4), xc='PBE', parallel={'domain': 2}, txt=None)
energy = chain.get_potential_energy()
forces = chain.get_forces()
if world.rank == 0:
    print('ranks', world.size)
    print('energy', energy)
    print('forces', *forces.flat)
